import { BankingClient, type FollowOptions, RemoteRefusal } from './index.js';
import {
  dies,
  hangs,
  refuses,
  responds,
  type ScriptedService,
  scriptedService,
  type Step,
} from './testing/scripted-service.js';

let service: ScriptedService;
beforeEach(async () => {
  service = await scriptedService();
});
afterEach(() => service.close());

const events = () => new BankingClient({ baseUrl: service.url, token: 'token', retries: 0 }).workspace(7).events;
const page = (next: string, ...ids: readonly number[]): Step =>
  responds(
    200,
    ids.map((id) => ({ id, type: 'order.placed' })),
    { link: `</events?cursor=${next}>; rel="next"` },
  );
const queries = () => service.received.map(({ url }) => url.split('?')[1] ?? '');

/** Follows until so many events were seen. */
async function follow(count: number, options: FollowOptions = {}) {
  const seen: number[] = [];
  const saved: string[] = [];
  const saveCursor = (cursor: string) => void saved.push(cursor);
  for await (const { id } of events().follow({ ...options, saveCursor })) {
    seen.push(id);
    if (seen.length === count) break;
  }
  return { seen, saved };
}

describe('events.follow', () => {
  it('continues from each page, and holds requests', async () => {
    service.script(page('a', 1, 2), page('b'), page('c', 3));
    const types = ['order.placed', 'order.failed'] as const;

    expect(await follow(3, { after: 'start', types, limit: 2, resourceType: 'order' })).toEqual({
      seen: [1, 2, 3],
      saved: ['a', 'b'],
    });
    const filters = 'limit=2&resourceType=order&type=order.placed&type=order.failed';
    expect(queries()).toEqual(['start', 'a', 'b'].map((cursor) => `${filters}&cursor=${cursor}&wait=20`));
  });

  it('saves no cursor before the events of its page are processed', async () => {
    service.script(page('a', 1, 2), page('b', 3));
    expect(await follow(2)).toEqual({ seen: [1, 2], saved: [] });
  });

  it.each<[string, Step]>([
    ['the connection dies', dies],
    ['the service is unavailable', refuses(503, 'unavailable', { 'Retry-After': '0' })],
    ['too many requests wait', refuses(429, 'rate_limited', { 'Retry-After': '0' })],
    ['a proxy fails', (response) => response.writeHead(502).end('<h1>Bad gateway</h1>')],
  ])('goes on from the same position after %s', async (_, step) => {
    service.script(page('a', 1), step, step, page('b', 2));
    expect((await follow(2)).seen).toEqual([1, 2]);
    expect(queries().slice(1)).toEqual(Array.from({ length: 3 }, () => 'cursor=a&wait=20'));
  });

  it.each([
    ['the role was removed', 403, 'workspace_forbidden'],
    ['events behind the cursor were deleted', 410, 'cursor_expired'],
  ])('ends with a failure that a retry cannot change: %s', async (_, status, reason) => {
    service.script(page('a', 1), refuses(status, reason));
    const ended = follow(2);
    await expect(ended).rejects.toThrow(RemoteRefusal);
    await expect(ended).rejects.toMatchObject({ status, reason });
    expect(service.received).toHaveLength(2);
  });

  it('ends without an error when its signal is aborted, also while a request is held', async () => {
    const controller = new AbortController();
    service.script(page('a', 1), () => controller.abort());
    const seen: number[] = [];
    for await (const { id } of events().follow({ signal: controller.signal })) seen.push(id);
    expect(seen).toEqual([1]);
    for await (const { id } of events().follow({ signal: controller.signal })) seen.push(id);
    expect([seen, service.received.length]).toEqual([[1], 2]);
  });

  it('pauses after a response without events that is early', async () => {
    service.script(page('a', 1), page('a'), page('b', 2));
    const timers = jest.spyOn(globalThis, 'setTimeout');
    await follow(2);
    expect(timers.mock.calls.filter(([, ms]) => ms === 1_000)).toHaveLength(1);
    timers.mockRestore();
  });

  it('waits for a held response longer than for others', async () => {
    const client = new BankingClient({ baseUrl: service.url, token: 'token', retries: 0, timeoutMs: 100 });
    let release = () => {};
    const received = new Promise<void>((isReceived) => {
      service.script((response, request) => {
        release = () => page('a', 1)(response, request);
        isReceived();
      }, hangs);
    });
    const held = client.workspace(7).events.listPage({ wait: 20 });
    await received;
    await expect(client.workspace(7).events.listPage({})).rejects.toMatchObject({ timedOut: true });
    release();
    await expect(held).resolves.toMatchObject({ next: 'a' });
  });
});

describe('events.list', () => {
  it('ends at a page without events and with the requested position', async () => {
    service.script(page('a', 1), page('b'), page('c', 2), page('c'));
    const seen: number[] = [];
    for await (const { id } of events().list({ limit: 1 })) seen.push(id);
    expect(seen).toEqual([1, 2]);
    expect(service.received).toHaveLength(4);
  });

  it('refuses a page without a link to the next', async () => {
    service.script(responds(200, []));
    await expect(events().listPage()).rejects.toThrow('it has no link to a next page');
  });
});
