import { compareWithLog } from './final-checks.js';
import { type RunContext, Tally } from './scenario.js';

describe('the comparison of a scenario that has compared its books before', () => {
  it('reports what the scenario compares besides', async () => {
    const tally = new Tally(() => undefined);
    const found = { check: 'payouts', detail: 'a payout was paid twice' } as const;

    await compareWithLog({ tally, log: { events: [] } } as unknown as RunContext, {
      isCompared: true,
      check: async () => [found],
    });

    expect(tally.violations).toEqual([found]);
  });
});
