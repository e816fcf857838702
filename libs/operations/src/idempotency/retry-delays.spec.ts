import type { RetryPolicy } from '@banking/postgres';
import { IN_DOUBT_POLICIES, retryDelayMs } from './create-once.js';

/** The delays before all retries of a policy. */
function delaysOf(policy: RetryPolicy, random: number): number[] {
  return Array.from({ length: policy.triesMax - 1 }, (_, index) => retryDelayMs(policy, index + 1, random));
}

describe('the delays before the retries of an order in doubt', () => {
  it('begin at once and double up to their bound', () => {
    expect(delaysOf(IN_DOUBT_POLICIES.order, 0.5)).toEqual([0, 250, 500, 1_000, 2_000]);
  });

  it('differ between processes, from 0.4 to 7.5 seconds in all', () => {
    const sums = [0, 0.999_999].map((random) =>
      delaysOf(IN_DOUBT_POLICIES.order, random).reduce((sum, ms) => sum + ms, 0),
    );

    expect(sums).toEqual([400, 7_496]);
  });

  it('are one retry at once for a change of a row', () => {
    expect(delaysOf(IN_DOUBT_POLICIES.change, 0.5)).toEqual([0]);
  });
});
