import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { filesReadBy } from './files-read.js';
import { node } from './node.js';
import { projects } from './workspace.js';
import { WorkspaceCopy } from './workspace-copy.js';

describe('nx run-many -t test, with the results of all tests in the cache', () => {
  const FILE = 'docs/integrate/conventions.md';
  let copy: WorkspaceCopy;

  beforeAll(() => {
    copy = new WorkspaceCopy();
    standInForJest(copy);
    testedNow(copy);
  });
  afterAll(() => copy.remove());

  it('runs the tests of exactly the projects that read a changed document', () => {
    copy.write(FILE, `${copy.read(FILE)}\nAnother line.\n`);

    const readers = projects().filter(({ folder }) => filesReadBy(folder).includes(FILE));
    expect(readers.map(({ folder }) => folder)).toEqual([
      'apps/api',
      'apps/api-e2e',
      'libs/client',
      'tools/house-rules',
    ]);
    expect(testedNow(copy)).toEqual(readers.map(({ manifest }) => manifest.name).sort());
  });
});

/** The projects whose tests Nx ran instead of taking the result from its cache. */
function testedNow({ folder }: WorkspaceCopy): string[] {
  const nx = join(folder, 'node_modules/nx/dist/bin/nx.js');
  node(folder, [nx, 'run-many', '-t', 'test', '--exclude-task-dependencies']);
  const { tasks } = JSON.parse(readFileSync(join(folder, '.nx/cache/run.json'), 'utf8')) as {
    readonly tasks: readonly { readonly projectName: string; readonly cacheStatus: string }[];
  };
  const missed = tasks.filter(({ cacheStatus }) => cacheStatus === 'cache-miss');
  return missed.map(({ projectName }) => projectName).sort();
}

/** Puts a program in the place of Jest that reports one passed test for each project. */
function standInForJest({ folder }: WorkspaceCopy): void {
  const installed = join(folder, 'node_modules/jest');
  rmSync(installed);
  mkdirSync(join(installed, 'bin'), { recursive: true });
  const program = [
    `const { writeSummary } = require('../../../tools/test-run/summary.cjs');`,
    `const summary = { passed: 1, failed: 0, skipped: 0, files: [], output: '' };`,
    `for (const root of process.argv.slice(process.argv.indexOf('--projects') + 1)) writeSummary(process.cwd(), root, summary);`,
  ];
  writeFileSync(join(installed, 'bin/jest.js'), program.join('\n'));
}
