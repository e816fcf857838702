import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { filesNamedIn, filesReadBy } from './files-read.js';
import { WorkspaceCopy } from './workspace-copy.js';
import { ROOT, files, projects, read } from './workspace.js';

/** The environment without what this run was told about caches. */
function environment(): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !/^(?:NX_|JEST_|NODE_OPTIONS$|FORCE_COLOR$)/.test(name));
  return { ...Object.fromEntries(own), NX_DAEMON: 'false', CI: 'true', NO_COLOR: '1' };
}

function node(folder: string, args: readonly string[], input = ''): string {
  return execFileSync(process.execPath, args, { cwd: folder, input, encoding: 'utf8', env: environment() });
}

describe('Given the cache of tasks', () => {
  it('When nothing is said about its place Then it lies in this checkout, where no other checkout finds it', () => {
    const [folder = ''] = node(ROOT, ['-p', "require('@nx/devkit').cacheDir"]).trimEnd().split('\n');

    expect(folder.startsWith(join(ROOT, '.nx'))).toBe(true);
  });

  it('When .ci/run checks a change Then no task is answered from a cache', () => {
    expect(read('.ci/run')).toMatch(/^export CI=true NX_SKIP_NX_CACHE=true$/m);
  });
});

describe('Given the files that tests read', () => {
  const tested = projects().filter(({ folder }) => existsSync(join(ROOT, folder, 'jest.config.cjs')));
  const outside = tested.map(({ folder, manifest }) => [`${manifest.name}:test`, filesReadBy(folder)]);

  it('When a file lies outside of the project Then it is an input of its test task', () => {
    const script = join(ROOT, 'tools/house-rules/src/task-inputs.mjs');
    const missing = node(ROOT, [script], JSON.stringify(Object.fromEntries(outside)));

    expect(
      Object.entries(JSON.parse(missing) as Record<string, string[]>).filter(([, files]) => files.length > 0),
    ).toEqual([]);
  });

  it.each([
    ["read(join(__dirname, '../../../docs/operate.md'))", ['docs/operate.md']],
    ["read(join(ROOT, 'docs', 'operate.md'))", ['docs/operate.md']],
    ["new URL('../../../README.md', import.meta.url)", ['README.md']],
    ['const PAGE = `docs/operate.md`;', ['docs/operate.md']],
    ["import { a } from './workspace.js';", []],
    ["read('docs/nosuch.md')", []],
  ])('When code says %s Then it names %j', (code, named) => {
    expect(filesNamedIn('tools/house-rules/src/canary.spec.ts', code, new Set(files()))).toEqual(named);
  });
});

describe('Given a workspace whose tests are in the cache', () => {
  const FILE = 'docs/integrate.md';
  let copy: WorkspaceCopy;

  beforeAll(() => {
    copy = new WorkspaceCopy();
    standInFor('jest', copy);
    testedNow(copy);
  });
  afterAll(() => copy.remove());

  it('When a document changes Then the tests of exactly those that read it run again', () => {
    expect(testedNow(copy)).toEqual([]);

    copy.write(FILE, `${copy.read(FILE)}\nAnother line.\n`);

    const readers = projects().filter(({ folder }) => filesReadBy(folder).includes(FILE));
    expect(readers.map(({ folder }) => folder)).toEqual(['apps/api-e2e', 'libs/client', 'tools/house-rules']);
    expect(testedNow(copy)).toEqual(readers.map(({ manifest }) => manifest.name).sort());
  });
});

/** The projects whose tests Nx ran, and did not answer from its cache. */
function testedNow({ folder }: WorkspaceCopy): string[] {
  const nx = join(folder, 'node_modules/nx/dist/bin/nx.js');
  const output = node(folder, [nx, 'run-many', '-t', 'test', '--exclude-task-dependencies', '--output-style=static']);
  const tasks = [...output.matchAll(/nx run (\S+):test(.*)$/gm)];
  return tasks.filter(([, , how = '']) => !how.includes('cache')).map(([, project = '']) => project).sort(); // prettier-ignore
}

/** Puts a program that does nothing in the place of an installed one. */
function standInFor(program: string, { folder }: WorkspaceCopy): void {
  const installed = join(ROOT, 'node_modules/.bin');
  const bin = join(folder, 'node_modules/.bin');
  rmSync(bin);
  mkdirSync(bin);
  for (const name of readdirSync(installed)) {
    if (name !== program) symlinkSync(join(installed, name), join(bin, name));
  }
  writeFileSync(join(bin, program), '#!/bin/sh\n', { mode: 0o755 });
}
