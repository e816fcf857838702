import { type EventPage, Refusal, type Scope } from '@banking/domain';
import type { Caller } from '../access/access-check.js';
import { Draining } from '../health/readiness.js';
import { ADA, openTestApp, type TestApp } from '../testing/test-app.js';
import {
  EventsModule,
  HELD_MAX,
  HELD_PER_USER_MAX,
  HELD_PER_WORKSPACE_MAX,
  HeldRequests,
} from './events.controller.js';
import { replyWithoutServer } from '../http/testing/reply-without-server.js';

const EVENT = { id: 64, type: 'order.placed', sequence: 1 };
const EMPTY: EventPage = { items: [], next: 'here' };
const PAGE = { items: [EVENT], next: 'behind' } as unknown as EventPage;

describe('EventsController', () => {
  const banking = { listEvents: jest.fn(), getEvent: jest.fn() };
  const confirmAccess = jest.fn();
  let draining: Draining;
  let app: TestApp;
  beforeEach(async () => {
    jest.resetAllMocks();
    confirmAccess.mockResolvedValue(undefined);
    draining = new Draining();
    app = await openTestApp(EventsModule.of(draining), banking, {}, confirmAccess);
  });
  afterEach(() => app.close());

  it('lists events, with a link behind them', async () => {
    banking.listEvents.mockResolvedValue(PAGE);

    const { body, headers } = await app.send(
      'GET /events?type=order.placed&type=order.failed&resourceType=order&wait=5',
    );

    expect(body).toEqual([EVENT]);
    expect(headers['link']).toBe(
      '</payments/events?type=order.placed&type=order.failed&resourceType=order&wait=5&cursor=behind>; rel="next"',
    );
    expect(banking.listEvents.mock.calls).toEqual([
      [ADA, { type: ['order.placed', 'order.failed'], resourceType: 'order' }],
    ]);
    expect(confirmAccess).not.toHaveBeenCalled();
  });

  it('reads one type as a list', async () => {
    banking.listEvents.mockResolvedValue(PAGE);
    await app.send('GET /events?type=order.placed');
    expect(banking.listEvents).toHaveBeenCalledWith(ADA, { type: ['order.placed'] });
  });

  it('links to the same position if there is no event', async () => {
    banking.listEvents.mockResolvedValue(EMPTY);
    const { body, headers } = await app.send('GET /events?cursor=here');
    expect(body).toEqual([]);
    expect(headers['link']).toBe('</payments/events?cursor=here>; rel="next"');
  });

  it('holds a request, and checks its access again before it responds', async () => {
    banking.listEvents.mockResolvedValueOnce(EMPTY).mockResolvedValueOnce(PAGE);

    expect((await app.send('GET /events?wait=20')).body).toEqual([EVENT]);

    const signal = expect.any(AbortSignal) as AbortSignal;
    expect(banking.listEvents).toHaveBeenLastCalledWith({ ...ADA, signal }, { cursor: 'here', wait: 20 });
    expect(confirmAccess).toHaveBeenCalledTimes(1);
  });

  it('discloses nothing if the caller has lost the role meanwhile', async () => {
    banking.listEvents.mockResolvedValueOnce(EMPTY).mockResolvedValueOnce(PAGE);
    confirmAccess.mockRejectedValue(new Refusal('workspace_forbidden'));
    expect(await app.send('GET /events?wait=20')).toMatchObject({
      status: 403,
      body: { reason: 'workspace_forbidden' },
    });
  });

  it.each([
    ['an error', (signal: AbortSignal) => Promise.reject(signal.reason as Error)],
    ['a page', () => Promise.resolve(EMPTY)],
  ])('responds at once when the service stops, if the port ends with %s', async (_, end) => {
    banking.listEvents.mockResolvedValueOnce(EMPTY).mockImplementation(({ signal }: Scope) => {
      const aborted = new Promise<EventPage>((resolve, reject) => {
        signal?.addEventListener('abort', () => void end(signal).then(resolve, reject));
      });
      draining.begin();
      return aborted;
    });
    const response = await app.send('GET /events?wait=20');
    expect(response).toMatchObject({ status: 200, body: [] });
    expect(response.headers['link']).toContain('cursor=here');
    expect(confirmAccess).not.toHaveBeenCalled();
  });

  it('holds no request once the service stops', async () => {
    draining.begin();
    banking.listEvents.mockResolvedValue(EMPTY);
    expect(await app.send('GET /events?wait=20')).toMatchObject({ status: 200, body: [] });
    expect(banking.listEvents).toHaveBeenCalledTimes(1);
  });

  it.each([
    ['type=order.lost', 'parameter_invalid'],
    ['type=', 'parameter_invalid'],
    ['type=order.placed&type=order.lost', 'parameter_invalid'],
    ['resourceType=order&resourceType=account', 'parameter_repeated'],
    ['resourceType=orders', 'parameter_invalid'],
    ['wait=21', 'parameter_invalid'],
    ['wait=-1', 'parameter_invalid'],
    ['wait=01', 'parameter_invalid'],
    ['wait=1&wait=2', 'parameter_repeated'],
    ['resourceId=0', 'id_malformed'],
    ['createdFrom=2026-11-21', 'timestamp_invalid'],
  ])('refuses %s', async (query, reason) => {
    expect(await app.send(`GET /events?${query}`)).toMatchObject({ status: 400, body: { reason } });
    expect(banking.listEvents).not.toHaveBeenCalled();
  });

  it('returns one event', async () => {
    banking.getEvent.mockResolvedValue(EVENT);
    expect(await app.send('GET /events/64')).toMatchObject({ status: 200, body: EVENT });
    expect(banking.getEvent).toHaveBeenCalledWith(ADA, { eventId: 64 });
  });
});

describe('HeldRequests', () => {
  const never = (signal: AbortSignal) =>
    new Promise<string>((resolve) => signal.addEventListener('abort', () => resolve('aborted')));

  const by = (actor: number, workspaceId: number) => ({ actor, workspaceId }) as Pick<Caller, 'actor' | 'workspaceId'>;

  it('limits the requests of a user in a workspace and of a workspace, and frees the places of those that end', async () => {
    const draining = new Draining();
    const requests = new HeldRequests(draining);
    const hold = (actor: number, workspaceId: number) =>
      requests.hold(by(actor, workspaceId), replyWithoutServer(), never);
    const held = Array.from({ length: HELD_PER_USER_MAX }, () => hold(1, 1));
    held.push(hold(1, 2));
    await expect(hold(1, 1)).rejects.toMatchObject({ reason: 'rate_limited', retryAfterSeconds: 1 });
    for (let actor = 2; held.length < HELD_PER_WORKSPACE_MAX + 1; actor += 1) held.push(hold(actor, 1));
    await expect(hold(999, 1)).rejects.toMatchObject({ reason: 'rate_limited', retryAfterSeconds: 1 });
    held.push(hold(999, 2));

    draining.begin();
    expect(new Set(await Promise.all(held))).toEqual(new Set([undefined]));
    draining.begun = false;
    await expect(requests.hold(by(1, 1), replyWithoutServer(), async () => 'done')).resolves.toBe('done');
  });

  it('gives a workspace no place that it would take from the last ones, so that another workspace finds one', async () => {
    const draining = new Draining();
    const requests = new HeldRequests(draining);
    const hold = (actor: number, workspaceId: number) =>
      requests.hold(by(actor, workspaceId), replyWithoutServer(), never);
    const held: Promise<unknown>[] = [];
    let [actor, refused] = [0, 0];
    for (let workspace = 1; workspace <= 12; workspace += 1) {
      for (let request = 0; request < HELD_PER_WORKSPACE_MAX; request += 1) {
        held.push(
          hold((actor += 1), workspace).catch(
            ({ reason }: Refusal) => void (refused += Number(reason === 'rate_limited')),
          ),
        );
      }
    }
    for (let newcomer = 100; newcomer < 103; newcomer += 1) held.push(hold((actor += 1), newcomer));
    draining.begin();
    await Promise.all(held);
    expect(refused).toBeGreaterThanOrEqual(12 * HELD_PER_WORKSPACE_MAX - HELD_MAX);
  });

  it('ends the wait of a caller who disconnects', async () => {
    const reply = replyWithoutServer();
    const held = new HeldRequests(new Draining()).hold(by(1, 1), reply, never);
    reply.raw.emit('close');
    await expect(held).resolves.toBeUndefined();
    expect(reply.raw.listenerCount('close')).toBe(0);
  });
});
