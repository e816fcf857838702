import { compareWithLog } from './final-checks.js';
import { Tally } from './scenario.js';

describe('the comparison of a scenario that has compared its books before', () => {
  it('reports what the scenario compares besides', async () => {
    const tally = new Tally(() => undefined);
    const found = { check: 'payouts', detail: 'a payout was paid twice' } as const;

    const run = { tally, log: { events: [] }, cluster: { databases: [] }, prefix: '', onProgress: () => undefined };
    await compareWithLog(run, { isCompared: true, check: async () => [found] });

    expect(tally.violations).toEqual([found]);
  });
});
