import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { WorkspaceCopy } from '../controls/workspace-copy.js';
import { addMigrations, migrationsOf } from './migration-folders.js';
import { treeAt } from './release-tree.js';
import { runSideBySide, type Step } from './side-by-side.js';

const ROOT = resolve(__dirname, '../../../..');
const SAMPLES = join(__dirname, 'samples');

describe('this program beside one with more migrations', () => {
  let folder: string;
  let copy: WorkspaceCopy;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'banking-upgrade-spec-'));
    // A server of root runs as another user, who must pass through.
    chmodSync(folder, 0o711);
    copy = WorkspaceCopy.create();
  });
  afterEach(() => {
    copy.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  async function upgradeBy(...samples: readonly string[]): Promise<readonly Step[]> {
    const last = migrationsOf(ROOT).at(-1)?.number ?? 0;
    const paths = samples.map((name) => join(SAMPLES, name));
    await addMigrations(copy.path('libs/operations/migrations'), last, paths);
    const [previous, next] = [treeAt(ROOT, 'this workspace'), treeAt(copy.folder, 'its copy')];
    return runSideBySide({ previous, next, folder, hasSuites: false, onProgress: () => undefined });
  }
  const failuresOf = (steps: readonly Step[]) =>
    steps.filter(({ isFailed }) => isFailed).map(({ name, result }) => `${name}: ${result}`);

  it('serves, pays and verifies while and after the other one expands and contracts', async () => {
    const steps = await upgradeBy('expand-notes.sql', 'expand-index.sql', 'contract-notes.sql');

    expect(failuresOf(steps)).toEqual([]);
    expect(steps.map(({ name }) => name)).toContain('a payment of the next release is carried out by the previous one');
  }, 600_000);

  it('keeps the other one from removing what it uses', async () => {
    const steps = await upgradeBy('refused-contract.sql');

    expect(failuresOf(steps)).toEqual([
      expect.stringMatching(
        /^the next release migrates while .+-refused-contract\.sql removes what releases before 99\.0\.0 use, and such processes are connected/s,
      ),
    ]);
  }, 600_000);
});
