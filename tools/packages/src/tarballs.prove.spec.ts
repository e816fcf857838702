import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { command } from './command.js';
import { LIBRARIES, ROOT } from './consumer.js';
import { run } from './run.js';

const { consumer, tarballs } = run();
const tool = (name: string, args: readonly string[]) =>
  command(join(ROOT, 'node_modules/.bin', name), args, { cwd: consumer });

/** What can be imported of each, beside its package.json. */
const ENTRIES = { domain: ['index', 'prose', 'proof'], client: ['index', 'session', 'webhooks'] } as const;

describe.each(LIBRARIES)('tarball of %s', (library) => {
  const installed = join(consumer, 'node_modules/@banking', library);

  it('passes publint without suggestions', async () => {
    expect(await tool('publint', ['run', tarballs[library], '--strict'])).toContain('All good!');
  });

  it('resolves for attw the types of each module format', async () => {
    const found = JSON.parse(await tool('attw', [tarballs[library], '--format', 'json'])) as {
      readonly analysis: { readonly entrypoints: object };
      readonly problems?: unknown;
    };

    expect(found.problems ?? {}).toEqual({});
    expect(Object.keys(found.analysis.entrypoints)).toEqual([
      ...ENTRIES[library].map((entry) => (entry === 'index' ? '.' : `./${entry}`)),
      './package.json',
    ]);
  });

  it('contains only expected files', async () => {
    const files = (await readdir(installed, { recursive: true, withFileTypes: true }))
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => join(parentPath, name).slice(installed.length + 1));
    const modules = files.filter((path) => /^src\/.*\.ts$/.test(path)).map((path) => path.slice(4, -3));

    expect(modules).toEqual(expect.arrayContaining([...ENTRIES[library]]));
    expect(files.filter((path) => /\.spec\.|tsbuildinfo/.test(path))).toEqual([]);
    expect(files.sort()).toEqual(
      [
        ...['CHANGELOG.md', 'LICENSE', 'README.md', 'package.json', 'esm/package.json'],
        ...ENTRIES[library].map((entry) => `esm/${entry}.d.mts`),
        ...modules.flatMap((path) => [
          `src/${path}.ts`,
          ...['.js', '.js.map', '.d.ts', '.d.ts.map'].map((ending) => `dist/${path}${ending}`),
          ...['.js', '.js.map'].map((ending) => `esm/dist/${path}${ending}`),
        ]),
      ].sort(),
    );
  });

  it('contains the license of the project', () => {
    expect(readFileSync(join(installed, 'LICENSE'), 'utf8')).toBe(readFileSync(join(ROOT, 'LICENSE'), 'utf8'));
  });
});
