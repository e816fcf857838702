import { chmodSync, chownSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createPrivateFile, makeDataDir } from './data-dir.js';

const isRoot = process.geteuid?.() === 0;
/** Root's database server runs as another user, who passes through DATA_DIR. */
const MODE = isRoot ? 0o711 : 0o700;
const modeOf = (path: string) => statSync(path).mode & 0o777;

let folder: string;
let umask: number;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'data-dir-'));
  umask = process.umask(0o077);
});
afterEach(() => {
  process.umask(umask);
  rmSync(folder, { recursive: true });
});

describe('makeDataDir', () => {
  it('makes the folders with the same mode, whatever the umask is', () => {
    const dataDir = join(folder, 'deployments', 'data');

    makeDataDir(dataDir);
    makeDataDir(dataDir);

    expect([modeOf(dataDir), modeOf(join(dataDir, '..'))]).toEqual([MODE, MODE]);
  });

  it('gives this mode to an empty folder, and leaves another folder as it is', () => {
    for (const name of ['empty', 'used']) mkdirSync(join(folder, name), { mode: 0o700 });
    mkdirSync(join(folder, 'used', 'something'));

    for (const name of ['empty', 'used']) makeDataDir(join(folder, name));

    expect([modeOf(join(folder, 'empty')), modeOf(join(folder, 'used'))]).toEqual([MODE, 0o700]);
  });
});

describe('createPrivateFile', () => {
  it('makes DATA_DIR and a file for its owner only, which the first of several processes writes', async () => {
    const dataDir = join(folder, 'data');

    const written = await Promise.all(['a', 'b', 'c'].map((text) => createPrivateFile(dataDir, 'key', text)));

    expect(written.filter(Boolean)).toHaveLength(1);
    expect(readFileSync(join(dataDir, 'key'), 'utf8')).toBe(['a', 'b', 'c'][written.indexOf(true)]);
    expect([modeOf(dataDir), modeOf(join(dataDir, 'key')), readdirSync(dataDir)]).toEqual([MODE, 0o600, ['key']]);
  });

  (isRoot ? it : it.skip)('gives what root writes to the owner of DATA_DIR', async () => {
    chownSync(folder, 1, 1);
    chmodSync(folder, 0o700);

    await createPrivateFile(folder, 'key', 'secret');

    expect([statSync(join(folder, 'key')).uid, modeOf(join(folder, 'key')), modeOf(folder)]).toEqual([1, 0o600, 0o700]);
  });
});
