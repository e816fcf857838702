import { ServiceError } from '@banking/client';
import { UserListsError } from '../upstream-failure.js';
import { type AppUsers, UserLists } from './user-lists.js';

/** User lists with a clock and reads that the spec controls. */
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
    /** Finds users, and completes the read that this starts. */
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

/** Waits until all settled promises have taken effect. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('UserLists', () => {
  it('reads the lists once for concurrent callers', async () => {
    const { lists, begun } = readings();
    const asked = [lists.find(), lists.find(), lists.find(never)];
    begun[0]?.give(FIRST);

    for (const answer of await Promise.all(asked)) expect(answer).toBe(FIRST);
    expect(begun).toHaveLength(1);
  });

  it.each([
    [4_999, 1],
    [5_000, 2],
  ])('begins within %i ms of the first read %i reads', async (ms, times) => {
    const { lists, begun, at } = readings();
    const first = lists.find();
    begun[0]?.give(FIRST);
    await first;
    at(ms);
    void lists.find();
    await settled();

    expect(begun).toHaveLength(times);
  });

  it('reads again for a missing user, at most once a second for all missing users', async () => {
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

  it('fails for all callers for a second after a failed read, and then reads again', async () => {
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

  it('serves known users from fresh lists although a read for a missing user has failed', async () => {
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

  it('shares a read that takes longer than a second', async () => {
    const { lists, begun, at } = readings();
    const first = lists.find();
    at(3_000);
    const second = lists.find();
    begun[0]?.give(FIRST);

    expect([await first, await second]).toEqual([FIRST, FIRST]);
    expect(begun).toHaveLength(1);
  });
});

describe('UserLists while the upstream responds 429', () => {
  it('serves known users until the lists are a minute old, and refuses the others', async () => {
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

  it('does not delay known users by a read', async () => {
    const { lists, begun, read, at } = readings();
    await read(FIRST);
    at(5_000);
    await read(limited());
    at(6_000);

    expect(await lists.find()).toBe(FIRST);
    expect(begun).toHaveLength(3);
  });

  it('serves no user from old lists if the read fails for another reason', async () => {
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
  ])('reads again after a Retry-After of %p seconds: after %i ms', async (retryAfter, ms) => {
    const { lists, begun, read, at } = readings();
    await read(limited(retryAfter));
    at(ms - 1);
    await expect(lists.find()).rejects.toThrow(UserListsError);
    expect(begun).toHaveLength(1);
    at(ms);
    expect(await read(SECOND)).toBe(SECOND);
  });

  it('reads with precedence once the lists are thirty seconds old, and only while it is limited', async () => {
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

describe('UserLists of many apps', () => {
  it.each([
    [1, 1_000],
    [19, 1_000],
    [99, 5_000],
    [999, 50_000],
  ])('reads %i apps again after %i ms at the earliest, which is 20 requests a second', async (count, ms) => {
    const { lists, begun, read, at } = readings();
    await read(apps(count));
    at(ms - 1);
    for (let time = 0; time < 100; time += 1) expect(await lists.find(never)).toHaveLength(count);
    expect(begun).toHaveLength(1);
    at(ms);
    expect(await read(SECOND, never)).toBe(SECOND);
  });
});
