import type { Event, EventPage, EventQuery, Scope } from '@banking/domain';
import { keepRows } from '@banking/postgres/testing';
import { type Member, orderWorld, type OrderWorld } from '../testing/order-world.js';
import { EventWaits } from './event-waits.js';
import { recordChanges } from './record-changes.js';
import { SCANNED_MAX } from './events.js';

let orders: OrderWorld;
let ada: Member;
let eve: Member;
let restore: () => Promise<void>;

const list = (query: EventQuery = {}, scope: Scope = ada): Promise<EventPage> =>
  orders.service.listEvents(scope, query);
const typesOf = ({ items }: EventPage) => items.map(({ type }) => type);

async function recordAll(): Promise<void> {
  while ((await recordChanges(orders.world.database)) > 0);
}

/** All events from a position to the end. */
async function walk(query: EventQuery, scope = ada): Promise<Event[]> {
  const walked: Event[] = [];
  for (let cursor = query.cursor; ;) {
    const { items, next } = await list({ ...query, cursor }, scope);
    walked.push(...items);
    if (items.length === 0 && next === cursor) return walked;
    cursor = next;
  }
}

/** Events as the recorder would write them, of accounts that do not exist. */
async function insertEvents(count: number, type = 'account.changed', secondsAgo = 0): Promise<void> {
  await orders.world.owner.query(
    `insert into event (workspace_id, type, resource_type, resource_id, sequence, changes, actor, created_at, recorded_at)
     select $1, $2, split_part($2, '.', 1), 1000000000 + nextval('event_id_seq'), 1, '{}', '{"type": "system"}', t, t
     from generate_series(1, $3::int) n cross join lateral (select now() - make_interval(secs => $4) as t) c`,
    [ada.workspaceId, type, count, secondsAgo],
  );
}

beforeAll(async () => {
  orders = await orderWorld();
  ({ ada, eve } = orders);
  await recordAll();
  restore = await keepRows(orders.world.owner);
});
afterEach(() => restore());
afterAll(() => orders.world.close());

describe('the list of events', () => {
  it('has the events of a workspace, oldest first, in pages that miss none', async () => {
    await orders.account(1, '500');
    await recordAll();

    const { rows } = await orders.world.owner.query<{ id: bigint }>(
      'select id from event where workspace_id = $1 order by id',
      [ada.workspaceId],
    );
    expect(rows.length).toBeGreaterThan(5);
    for (const limit of [1, 3, 500]) {
      expect((await walk({ limit })).map(({ id }) => BigInt(id))).toEqual(rows.map(({ id }) => id));
    }
    const last = (await walk({})).at(-1)!;
    await expect(orders.service.getEvent(ada, { eventId: last.id })).resolves.toEqual(last);
    await expect(orders.service.getEvent(eve, { eventId: last.id })).rejects.toMatchObject({
      reason: 'event_not_found',
    });
  });

  it('returns the requested position with an empty page, and continues from it', async () => {
    const all = await walk({});
    const { next } = await list({ limit: all.length });
    await expect(list({ cursor: next })).resolves.toEqual({ items: [], next });

    const accountId = await orders.account(1, '0');
    await recordAll();
    const page = await list({ cursor: next });
    expect(page.items).toMatchObject([{ type: 'account.opened', resource: { type: 'account', id: accountId } }]);
  });

  it('selects by type, resource and time', async () => {
    const accountId = await orders.account(1, '500');
    await orders.service.changeAccount(ada, { accountId, alias: 'Rent' });
    await recordAll();
    const all = await walk({});
    const matching = (is: (event: Event) => boolean) => all.filter(is);
    const type = ['account.opened', 'transfer.booked'] as const;
    expect(await walk({ type, limit: 2 })).toEqual(matching((event) => type.includes(event.type as never)));
    expect(await walk({ resourceType: 'transaction', limit: 2 })).toEqual(
      matching(({ resource }) => resource.type === 'transaction'),
    );
    const ofAccount = await walk({ resourceType: 'account', resourceId: accountId, limit: 1 });
    expect(ofAccount.map(({ sequence, type }) => [sequence, type])).toEqual([
      [1, 'account.opened'],
      [2, 'account.changed'],
    ]);
    const [createdFrom, createdTo] = [all[2]!.createdAt, all.at(-1)!.createdAt];
    expect(await walk({ createdFrom, createdTo, limit: 3 })).toEqual(
      matching(({ createdAt }) => createdAt >= createdFrom && createdAt < createdTo),
    );
    expect(await walk({ createdFrom: '2999-01-01T00:00:00Z' })).toEqual([]);
  });

  it('reads a bounded number of events in a request, and goes on behind them', async () => {
    await insertEvents(SCANNED_MAX + 10);
    const accountId = await orders.account(1, '0');
    await recordAll();

    const query: EventQuery = {
      resourceType: 'account',
      type: ['account.opened'],
      createdFrom: '2026-01-01T00:00:00Z',
    };
    const first = await list(query);
    expect(first.items.every(({ resource }) => resource.id !== accountId)).toBe(true);
    const second = await list({ ...query, cursor: first.next });
    expect(second.items.at(-1)?.resource.id).toBe(accountId);
  });

  it('begins near createdFrom in a long list', async () => {
    await insertEvents(SCANNED_MAX + 10, 'account.changed', 3_600);
    await insertEvents(3, 'account.enabled');

    const createdFrom = new Date(Date.now() - 1_800_000).toISOString();
    const page = await list({ type: ['account.enabled'], createdFrom });
    expect(typesOf(page)).toEqual(['account.enabled', 'account.enabled', 'account.enabled']);
  });

  it.each<[string, EventQuery, string]>([
    ['an unknown type', { type: ['order.lost' as never] }, 'parameter_invalid'],
    ['no type', { type: [] }, 'parameter_invalid'],
    ['an unknown resource type', { resourceType: 'order2' as never }, 'parameter_invalid'],
    ['a resource without its type', { resourceId: 1 }, 'parameter_invalid'],
    ['an id that is none', { resourceType: 'order', resourceId: 0 }, 'id_malformed'],
    ['a wait that is too long', { wait: 21 }, 'parameter_invalid'],
    ['a wait of half a second', { wait: 0.5 }, 'parameter_invalid'],
    ['a limit that is too high', { limit: 501 }, 'limit_invalid'],
    [
      'a period that ends before it begins',
      { createdFrom: '2026-02-01T00:00:00Z', createdTo: '2026-01-01T00:00:00Z' },
      'timestamp_invalid',
    ],
  ])('refuses %s', async (_, query, reason) => {
    await expect(list(query)).rejects.toMatchObject({ reason });
  });

  it('refuses a cursor of another workspace, of other filters and of another list', async () => {
    const { next: cursor } = await list({ limit: 1 });
    const { next: ofOrders } = await orders.service.listTransfers(ada, { limit: 1 });

    await expect(list({ cursor }, eve)).rejects.toMatchObject({ reason: 'cursor_invalid' });
    await expect(list({ cursor, type: ['order.placed'] })).rejects.toMatchObject({ reason: 'cursor_invalid' });
    await expect(list({ cursor: ofOrders })).rejects.toMatchObject({ reason: 'cursor_invalid' });
  });
});

describe('a call that waits for events', () => {
  const LONG = { wait: 20 };
  let next: string;

  beforeEach(async () => {
    await walk({});
    ({ next } = await list({ limit: 500 }));
  });

  it('returns with the next event of its workspace, and holds no connection meanwhile', async () => {
    const waiting = Array.from({ length: 20 }, () => list({ ...LONG, cursor: next }));
    await orders.account(1, '0', eve);
    await recordAll();
    await orders.account(1, '0');
    await recordAll();

    for (const page of await Promise.all(waiting)) expect(typesOf(page)).toEqual(['account.opened']);
  });

  it('goes on waiting behind events that do not match', async () => {
    const { next: cursor } = await list({ type: ['recipient.added'], limit: 500 });
    const waiting = list({ ...LONG, type: ['recipient.added'], cursor });
    const accountId = await orders.account(1, '0');
    await recordAll();
    await orders.near(accountId);
    await recordAll();

    expect(typesOf(await waiting)).toEqual(['recipient.added']);
  });

  it('returns the same position when the time is over', async () => {
    await expect(list({ wait: 1, cursor: next })).resolves.toEqual({ items: [], next });
  });

  it('returns the same position at once when its signal is aborted', async () => {
    const controller = new AbortController();
    const waiting = list({ ...LONG, cursor: next }, { ...ada, signal: controller.signal });
    const aborted = list({ ...LONG, cursor: next }, { ...ada, signal: AbortSignal.abort() });
    await expect(aborted).resolves.toEqual({ items: [], next });
    controller.abort();
    await expect(waiting).resolves.toEqual({ items: [], next });
  });

  it('sends one query for all waiting workspaces, and none when no caller waits', async () => {
    const { database } = orders.world;
    const send = database.pipeline.bind(database);
    const pipeline = jest.spyOn(database, 'pipeline');
    const polls = () => pipeline.mock.calls.filter(([, [bound]]) => bound?.statement.name === 'last_events');
    const polled = new Promise<void>((isPolled) =>
      pipeline.mockImplementation((...call: Parameters<typeof send>) => {
        if (polls().length === 3) isPolled();
        return send(...call);
      }),
    );
    const { next: ofEve } = await list({ limit: 500 }, eve);
    const controller = new AbortController();
    const { signal } = controller;
    const waiting = [
      ...Array.from({ length: 5 }, () => list({ ...LONG, cursor: next }, { ...ada, signal })),
      list({ ...LONG, cursor: ofEve }, { ...eve, signal }),
    ];
    await polled;
    const both = [ada.workspaceId, eve.workspaceId].sort();
    expect(polls().at(-1)?.[0].workspaces?.toSorted()).toEqual(both);

    controller.abort();
    await Promise.all(waiting);
    const timers = jest.spyOn(globalThis, 'setTimeout');
    await list({ cursor: next });
    expect(timers.mock.calls.filter(([, ms]) => ms === 200)).toEqual([]);
    timers.mockRestore();
    pipeline.mockRestore();
  });

  it('fails at once if the database ends while it is asked for events, and if it has ended', async () => {
    const own = await orderWorld();
    const { database } = own.world;
    const { next: cursor } = await own.service.listEvents(own.ada, { limit: 500 });
    const waits = new EventWaits(database);
    // Longer than a test may take.
    const call = () => waits.until(own.ada.workspaceId, 1_000_000n, 3_600_000);
    const stopping = { reason: 'unavailable', message: 'The service is stopping.' };
    const send = database.pipeline.bind(database);
    const pipeline = jest.spyOn(database, 'pipeline').mockImplementationOnce((...sent: Parameters<typeof send>) => {
      const asked = send(...sent);
      void database.end();
      return asked;
    });

    await expect(call()).rejects.toMatchObject(stopping);
    pipeline.mockRestore();

    await expect(call()).rejects.toMatchObject(stopping);
    await expect(own.service.listEvents(own.ada, { ...LONG, cursor })).rejects.toMatchObject(stopping);
    await own.world.close();
  });
});
