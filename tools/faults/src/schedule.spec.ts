import { randomOf } from './random.js';
import { FAULT_KINDS, type PlannedKind, planFaults } from './schedule.js';

const TIMES = { afterMs: [200, 3_000], lastsMs: [10, 20] } as const;

function planned(seed: number, count: number, kinds: readonly PlannedKind[] = FAULT_KINDS) {
  const plan = planFaults(randomOf(seed), kinds, TIMES);
  return Array.from({ length: count }, () => plan.next().value!);
}

describe('plan of faults', () => {
  it('repeats for the same seed, and differs for another', () => {
    expect(planned(5, 40)).toEqual(planned(5, 40));
    expect(planned(5, 40)).not.toEqual(planned(6, 40));
  });

  it('contains every kind once in each round', () => {
    const faults = planned(5, 3 * FAULT_KINDS.length).map(({ kind }) => kind);

    for (let round = 0; round < 3; round += 1) {
      const of = faults.slice(round * FAULT_KINDS.length, (round + 1) * FAULT_KINDS.length);
      expect(of.sort()).toEqual([...FAULT_KINDS].sort());
    }
  });

  it('keeps to the times between two faults', () => {
    for (const { afterMs, lastsMs } of planned(9, 200)) {
      expect(afterMs).toBeGreaterThanOrEqual(200);
      expect(afterMs).toBeLessThanOrEqual(3_000);
      expect(lastsMs).toBeGreaterThanOrEqual(10);
      expect(lastsMs).toBeLessThanOrEqual(20);
    }
  });
});
