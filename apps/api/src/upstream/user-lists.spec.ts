import type { AppUsers } from './user-lists.js';
import { UserLists } from './user-lists.js';

/** Lists that are read when the spec says so, at a time the spec says. */
function readings() {
  const begun: { give: (lists: readonly AppUsers[]) => void; fail: (error: Error) => void }[] = [];
  let nowMs = 0;
  const lists = new UserLists(
    () => new Promise((give, fail) => begun.push({ give, fail })),
    () => nowMs,
  );
  return { lists, begun, at: (ms: number) => (nowMs = ms) };
}

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
