import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PROMISES } from './promises.js';
import { runTogether } from './run-together.js';
import type { Figures } from './scenario.js';

/** What each scenario reaches here; `npm run faults` reaches what the promises state. */
const GOALS: Readonly<Record<string, Figures>> = {
  // Each way to be away once, and one of them for home.
  P37: { faults: 3 },
  P38: { faults: 1 },
  P39: { ids: 300 },
  // Each point once.
  P40: { faults: 6 },
  P41: { faults: 1, acknowledged: 20 },
  // A move that is killed while the workspace is closed and is abandoned, and one that is killed after its switch and resumed.
  P42: { faults: 2 },
};
const SEED = 4711;
/** For each scenario, on a machine under load. */
const LIMIT_MS = 240_000;

describe('short run under faults of three cells', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'banking-faults-spec-'));
    // A server of root runs as another user, who must pass through.
    chmodSync(folder, 0o711);
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }));

  it(
    'finds no violation of P37 to P42',
    async () => {
      const promises = PROMISES.flatMap((promise) => {
        const goals = GOALS[promise.id];
        return goals === undefined ? [] : [{ ...promise, goals }];
      });

      const rows = await runTogether({ promises, seed: SEED, folder, onProgress: () => undefined }, LIMIT_MS);

      expect(rows.flatMap(({ violations }) => violations)).toEqual([]);
      // Not every kind of fault of P38 and P42 is injected.
      expect(rows.filter(({ verdict, note }) => verdict === 'fail' || note.includes('figure not reached'))).toEqual([]);
      expect(rows.map(({ promise }) => promise.id)).toEqual(Object.keys(GOALS));
    },
    5 * LIMIT_MS,
  );
});
