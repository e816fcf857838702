import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { filesNamedIn, filesReadBy } from './files-read.js';
import { node } from './node.js';
import { ROOT, files, projects, read } from './workspace.js';

describe('the task cache of nx', () => {
  it('lies in this checkout, where no other checkout finds it', () => {
    const [folder = ''] = node(ROOT, ['-p', "require('@nx/devkit').cacheDir"]).trimEnd().split('\n');

    expect(folder.startsWith(join(ROOT, '.nx'))).toBe(true);
  });

  it('is not used by .ci/run', () => {
    expect(read('.ci/run')).toMatch(/^export CI=true NX_SKIP_NX_CACHE=true$/m);
  });
});

describe('the inputs of the test tasks', () => {
  const tested = projects().filter(({ folder }) => existsSync(join(ROOT, folder, 'jest.config.cjs')));
  const outside = tested.map(({ folder, manifest }) => [`${manifest.name}:test`, filesReadBy(folder)]);

  it('include each file outside of the project that its code names', () => {
    const script = join(ROOT, 'tools/house-rules/src/task-inputs.mjs');
    const missing = node(ROOT, [script], JSON.stringify(Object.fromEntries(outside)));

    expect(
      Object.entries(JSON.parse(missing) as Record<string, string[]>).filter(([, files]) => files.length > 0),
    ).toEqual([]);
  });

  it.each([
    ["read(join(__dirname, '../../../docs/gateway.md'))", ['docs/gateway.md']],
    ["read(join(ROOT, 'docs', 'gateway.md'))", ['docs/gateway.md']],
    ["new URL('../../../README.md', import.meta.url)", ['README.md']],
    ['const PAGE = `docs/gateway.md`;', ['docs/gateway.md']],
    ["import { a } from './workspace.js';", []],
    ["read('docs/nosuch.md')", []],
  ])('take the code %s to name %j', (code, named) => {
    expect(filesNamedIn('tools/house-rules/src/canary.spec.ts', code, new Set(files()))).toEqual(named);
  });
});
