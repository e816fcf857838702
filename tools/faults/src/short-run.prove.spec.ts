import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PROMISES, SCENARIOS } from './promises.js';
import { judgeAll, runScenarios } from './run.js';
import type { Figures } from './scenario.js';

/** What each scenario reaches here; `npm run faults` reaches what the promises state. */
const GOALS: Readonly<Record<string, Figures>> = {
  P1: { snapshots: 5 },
  P2: { rounds: 4 },
  // Every tenth of these rounds kills a process.
  P5: { rounds: 10, kills: 1 },
  P6: { keys: 3 },
  P8: { reads: 30 },
  P9: { acknowledged: 40, refusedChanges: 45 },
  P12: { quads: 5 },
  P15: { kills: 1 },
  P45: { kills: 1, rounds: 5 },
  P46: { decisions: 10 },
};
/** For each scenario, on a machine under load. */
const LIMIT_MS = 120_000;

describe('short run under faults', () => {
  let folder: string;
  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'banking-faults-spec-'))));
  afterEach(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }));

  it(
    'finds no violation of P1, P2, P5, P6, P8, P9, P12, P15, P45 and P46',
    async () => {
      // All run on one cluster, so none that needs a cluster of another kind.
      const wanted = SCENARIOS.filter(({ cluster }) => cluster === undefined);
      const promises = PROMISES.flatMap((promise) => {
        const goals = GOALS[promise.id];
        const isWanted = goals !== undefined && wanted.some(({ name }) => name === promise.scenario);
        return isWanted ? [{ ...promise, goals }] : [];
      });
      // Too short for each kind of fault.
      const scenarios = wanted
        .filter(({ name }) => promises.some(({ scenario }) => scenario === name))
        .map((scenario) => ({ ...scenario, faults: [] }));

      const results = await runScenarios(
        scenarios,
        { promises, seed: 4711, folder, onProgress: () => undefined },
        LIMIT_MS,
      );

      const rows = judgeAll(promises, results);
      expect(rows.flatMap(({ violations }) => violations)).toEqual([]);
      expect(
        rows.map(({ promise, verdict, note }) => `${promise.id} ${verdict} ${verdict === 'pass' ? '' : note}`.trim()),
      ).toEqual(Object.keys(GOALS).map((id) => `${id} pass`));
    },
    6 * LIMIT_MS,
  );
});
