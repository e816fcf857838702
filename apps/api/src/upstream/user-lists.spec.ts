import { ServiceError } from '@banking/client';
import { UserListsError } from './upstream-failure.js';
import { type AppUsers, UserLists } from './user-lists.js';

/** Lists that are read when the spec says so, at a time the spec says. */
function readings() {
  const begun: { isUrgent: boolean; give: (lists: readonly AppUsers[]) => void; fail: (error: Error) => void }[] = [];
  let nowMs = 0;
  let isUrgent = false;
  const lists = new UserLists(
    () => new Promise((give, fail) => begun.push({ isUrgent, give, fail })),
    (read) => {
      isUrgent = true;
      const reading = read();
      isUrgent = false;
      return reading;
    },
    () => nowMs,
  );
  return {
    lists,
    begun,
    at: (ms: number) => (nowMs = ms),
    /** Asks, and answers the reading that this begins. */
    async read(answer: readonly AppUsers[] | Error, isFound?: () => boolean) {
      const before = begun.length;
      const asked = lists.find(isFound).catch((error: Error) => error);
      if (answer instanceof Error) begun[before]?.fail(answer);
      else begun[before]?.give(answer);
      expect(begun).toHaveLength(before + 1);
      const found = await asked;
      await settled();
      return found;
    },
  };
}

const limited = (retryAfterSeconds?: number) =>
  new UserListsError('no', { cause: new ServiceError('no', { status: 429, retryAfterSeconds, body: '' }) });
const apps = (count: number) => Array.from({ length: count }, () => ({ users: [] })) as unknown as readonly AppUsers[];

const FIRST: readonly AppUsers[] = [];
const SECOND: readonly AppUsers[] = [];
const never = () => false;

/** Whatever follows from what has just been settled. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('Given user lists that are kept', () => {
  it('When many ask at once, Then the lists are read once for all', async () => {
    const { lists, begun } = readings();
    const asked = [lists.find(), lists.find(), lists.find(never)];
    begun[0]?.give(FIRST);

    for (const answer of await Promise.all(asked)) expect(answer).toBe(FIRST);
    expect(begun).toHaveLength(1);
  });

  it.each([
    [4_999, 1],
    [5_000, 2],
  ])('When %i ms are over, Then they have been read %i times', async (ms, times) => {
    const { lists, begun, at } = readings();
    const first = lists.find();
    begun[0]?.give(FIRST);
    await first;
    at(ms);
    void lists.find();
    await settled();

    expect(begun).toHaveLength(times);
  });

  it('When somebody is not found, Then the lists are read again, at most once a second however many are missing', async () => {
    const { lists, begun, at } = readings();
    const first = lists.find();
    begun[0]?.give(FIRST);
    await first;

    at(999);
    expect(await lists.find(never)).toBe(FIRST);
    expect(begun).toHaveLength(1);

    at(1_000);
    const missing = Array.from({ length: 50 }, () => lists.find(never));
    await settled();
    begun[1]?.give(SECOND);
    for (const answer of await Promise.all(missing)) expect(answer).toBe(SECOND);
    expect(begun).toHaveLength(2);

    at(1_500);
    expect(await lists.find(never)).toBe(SECOND);
    expect(begun).toHaveLength(2);
  });

  it('When they cannot be read, Then everybody hears so for a second, and then they are read again', async () => {
    const { lists, begun, at } = readings();
    const first = lists.find();
    begun[0]?.fail(new Error('away'));
    await expect(first).rejects.toThrow('away');

    at(999);
    await expect(lists.find()).rejects.toThrow('away');
    expect(begun).toHaveLength(1);

    at(1_000);
    const second = lists.find();
    begun[1]?.give(SECOND);
    expect(await second).toBe(SECOND);
  });

  it('When reading again fails, Then that is told to whoever is missing, and the others are found until five seconds are over', async () => {
    const { lists, begun, at } = readings();
    const first = lists.find();
    begun[0]?.give(FIRST);
    await first;
    at(1_000);
    const missing = lists.find(never);
    await settled();
    begun[1]?.fail(new Error('away'));

    await expect(missing).rejects.toThrow('away');
    await expect(lists.find(never)).rejects.toThrow('away');
    expect(await lists.find()).toBe(FIRST);
    at(5_000);
    const late = lists.find();
    begun[2]?.fail(new Error('still away'));
    await expect(late).rejects.toThrow('still away');
  });

  it('When one reading takes longer than the time between two, Then whoever comes meanwhile waits for it', async () => {
    const { lists, begun, at } = readings();
    const first = lists.find();
    at(3_000);
    const second = lists.find();
    begun[0]?.give(FIRST);

    expect([await first, await second]).toEqual([FIRST, FIRST]);
    expect(begun).toHaveLength(1);
  });
});

describe('Given user lists whose reading the upstream limits', () => {
  it('serves those who are found from the lists until they are a minute old, and refuses the others', async () => {
    const { lists, read, at } = readings();
    await read(FIRST);
    for (const ms of [5_000, 20_000, 40_000, 59_999]) {
      at(ms);
      expect(await read(limited())).toBe(FIRST);
      expect(await lists.find()).toBe(FIRST);
      await expect(lists.find(never)).rejects.toThrow(UserListsError);
    }
    at(60_999);
    expect(await read(limited())).toBeInstanceOf(UserListsError);
    await expect(lists.find()).rejects.toThrow(UserListsError);
    at(62_000);
    expect(await read(SECOND)).toBe(SECOND);
  });

  it('lets nobody wait for a reading who is found in lists that may be used', async () => {
    const { lists, begun, read, at } = readings();
    await read(FIRST);
    at(5_000);
    await read(limited());
    at(6_000);

    expect(await lists.find()).toBe(FIRST);
    expect(begun).toHaveLength(3);
  });

  it('does not serve anybody from old lists when they cannot be read for another reason', async () => {
    const { read, at } = readings();
    await read(FIRST);
    at(5_000);
    expect(await read(new Error('away'))).toMatchObject({ message: 'away' });
    at(6_000);
    expect(await read(limited())).toBe(FIRST);
    at(7_000);
    expect(await read(new Error('away'))).toBe(FIRST);
    at(8_000);
    expect(await read(new Error('away'))).toMatchObject({ message: 'away' });
  });

  it.each([
    [undefined, 1_000],
    [0, 1_000],
    [7, 7_000],
    [3_600, 60_000],
  ])('asks again when Retry-After, %p seconds, is over: after %i ms', async (retryAfter, ms) => {
    const { lists, begun, read, at } = readings();
    await read(limited(retryAfter));
    at(ms - 1);
    await expect(lists.find()).rejects.toThrow(UserListsError);
    expect(begun).toHaveLength(1);
    at(ms);
    expect(await read(SECOND)).toBe(SECOND);
  });

  it('reads them urgently once they are thirty seconds old, and only while it is limited', async () => {
    const { begun, read, at } = readings();
    await read(FIRST);
    for (const ms of [29_000, 30_000, 40_000]) {
      at(ms);
      await read(limited());
    }
    at(41_000);
    await read(SECOND);
    at(90_000);
    await read(FIRST);

    expect(begun.map(({ isUrgent }) => isUrgent)).toEqual([false, false, true, true, true, false]);
  });
});

describe('Given an upstream with many apps', () => {
  it.each([
    [1, 1_000],
    [19, 1_000],
    [99, 5_000],
    [999, 50_000],
  ])('reads the lists of %i apps again after %i ms at the earliest: 20 requests a second', async (count, ms) => {
    const { lists, begun, read, at } = readings();
    await read(apps(count));
    at(ms - 1);
    for (let time = 0; time < 100; time += 1) expect(await lists.find(never)).toHaveLength(count);
    expect(begun).toHaveLength(1);
    at(ms);
    expect(await read(SECOND, never)).toBe(SECOND);
  });
});
