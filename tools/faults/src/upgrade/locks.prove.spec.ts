import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { measureLocks } from './measure-locks.js';

const ROOT = resolve(__dirname, '../../../..');
const LIMIT_MS = 2_000;

/** Fine on tables of any size. */
const SHORT = ['expand-notes.sql', 'expand-index.sql', 'contract-notes.sql'].map((name) =>
  join(__dirname, 'samples', name),
);
/** Has the lock of a rewrite for longer than the limit on a machine of any speed. */
const LONG = [
  '-- Canary.',
  '-- Phase: expand',
  'alter table customer_order add column note text;',
  `select pg_sleep(${(LIMIT_MS + 1_000) / 1_000});`,
];

describe('migrations of large tables', () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'banking-upgrade-spec-'));
    // A server of root runs as another user, who must pass through.
    chmodSync(folder, 0o711);
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('let no request wait two seconds, except for the one that is made to', async () => {
    const long = join(folder, 'long.sql');
    writeFileSync(long, `${LONG.join('\n')}\n`);

    const measured = await measureLocks({
      ...{
        folder,
        root: ROOT,
        transfers: 100_000,
        more: [...SHORT, long],
        limitMs: LIMIT_MS,
        onProgress: () => undefined,
      },
    });

    const waitedTooLong = measured.filter(({ longest }) => longest.isGivenUp);
    expect(measured.length).toBeGreaterThan(SHORT.length);
    expect(waitedTooLong).toEqual([
      {
        name: expect.stringMatching(/-long\.sql$/) as string,
        tookMs: expect.any(Number) as number,
        longest: { table: 'customer_order', ms: expect.any(Number) as number, isGivenUp: true },
      },
    ]);
  }, 300_000);
});
