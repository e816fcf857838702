import { Refusal } from '@banking/domain';
import { SharedReadiness } from './readiness.js';

const STATUS = { parked: { payout: 2 }, oldestDueSeconds: 0 };

/** A backing that answers as it is told, and a clock that stands still until it is moved. */
function world() {
  const time = { nowMs: 0 };
  const backing = { check: jest.fn(async () => undefined), work: jest.fn(async () => STATUS) };
  const readiness = new SharedReadiness(backing, () => time.nowMs);
  const asked = () => [backing.check.mock.calls.length, backing.work.mock.calls.length];
  return { time, backing, readiness, asked };
}

describe('Given the readiness of a backing', () => {
  it('asks once for all calls of a second', async () => {
    const { readiness, time, asked } = world();

    const together = await Promise.all([readiness.read(), readiness.read(), readiness.read()]);
    time.nowMs = 999;
    const within = await readiness.read();

    expect([...together, within]).toEqual([STATUS, STATUS, STATUS, STATUS]);
    expect(asked()).toEqual([1, 1]);
    time.nowMs = 1_000;
    await readiness.read();
    expect(asked()).toEqual([2, 2]);
  });

  it('asks one at a time, however long that takes', async () => {
    const { readiness, backing, time } = world();
    let answer: () => void = () => undefined;
    backing.check.mockImplementationOnce(() => new Promise((resolve) => (answer = () => resolve(undefined))));

    const first = readiness.read();
    time.nowMs = 30_000;
    const second = readiness.read();
    answer();

    expect(await Promise.all([first, second])).toEqual([STATUS, STATUS]);
    expect(backing.check).toHaveBeenCalledTimes(1);
    await readiness.read();
    expect(backing.check).toHaveBeenCalledTimes(2);
  });

  it('keeps a failure for a second, and not longer', async () => {
    const { readiness, backing, time, asked } = world();
    backing.check.mockRejectedValueOnce(new Refusal('unavailable'));

    await expect(readiness.read()).rejects.toThrow(Refusal);
    time.nowMs = 999;
    await expect(readiness.read()).rejects.toThrow(Refusal);
    expect(asked()).toEqual([1, 0]);

    time.nowMs = 1_000;
    expect(await readiness.read()).toEqual(STATUS);
  });
});
