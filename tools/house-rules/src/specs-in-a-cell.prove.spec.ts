import { spawnSync } from 'node:child_process';
import { ROOT } from './workspace.js';

const WITHIN_MS = 400_000;

describe('a few specs of the libraries', () => {
  it(
    'pass in a database that is a cell',
    () => {
      const { status, stderr } = spawnSync(process.execPath, ['tools/specs-in-a-cell.mjs', '--brief'], {
        cwd: ROOT,
        encoding: 'utf8',
        timeout: WITHIN_MS,
      });

      expect({ status, failed: stderr.split('\n').filter((line) => /^(?:FAIL| {2}● )/.test(line)) }).toEqual({
        status: 0,
        failed: [],
      });
      expect(stderr).toMatch(/Tests: +\d+ passed/);
    },
    WITHIN_MS,
  );
});
