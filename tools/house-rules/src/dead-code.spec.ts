import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { ROOT } from './workspace.js';
import { WorkspaceCopy } from './workspace-copy.js';

interface Found {
  readonly file: string;
  readonly [kind: string]: unknown;
}

/** What knip finds with the configuration of the workspace: `kind file name`, or `file` for one that nobody loads. */
function deadIn(folder: string): string[] {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(ROOT, 'node_modules/knip/bin/knip.js'), '--reporter', 'json', '--treat-config-hints-as-errors'],
    { cwd: folder, encoding: 'utf8' },
  );
  if (status !== 0 && status !== 1) throw new Error(`knip ended with ${status}: ${stderr}`);
  const { issues } = JSON.parse(stdout) as { issues: Found[] };
  const found = issues.flatMap(({ file, ...kinds }) =>
    Object.entries(kinds).flatMap(([kind, names]) =>
      Array.isArray(names) ? names.map(({ name }: { name: string }) => `${kind}: ${name} in ${file}`) : [],
    ),
  );
  return status === 1 && found.length === 0 ? ['knip.jsonc says what is needed no more: npx knip tells what'] : found;
}

describe('Given the code of this repository', () => {
  it('When it is searched for what nobody uses Then there is nothing', () => {
    expect(deadIn(ROOT)).toEqual([]);
  });
});

describe('Given a copy of it with something nobody uses', () => {
  const copy = new WorkspaceCopy();

  afterAll(() => copy.remove());

  it('When it is searched Then all of it is found, and nothing else', () => {
    const before = deadIn(copy.folder);
    copy.write('libs/ledger/src/forgotten.ts', 'export const forgotten = 1;\n');
    copy.write('libs/ledger/src/books.ts', `${copy.read('libs/ledger/src/books.ts')}export const unused = 1;\n`);
    copy.write('libs/operations/src/edges.ts', `${copy.read('libs/operations/src/edges.ts')}export type Unused = 1;\n`);
    copy.write('apps/cli/src/print.ts', `import 'jose';\n${copy.read('apps/cli/src/print.ts')}`);
    copy.change('libs/ledger/package.json', '"dependencies": {', '"dependencies": {\n    "pino": "10.4.0",');

    const found = deadIn(copy.folder).filter((one) => !before.includes(one));
    expect(found.sort()).toEqual([
      'dependencies: pino in libs/ledger/package.json',
      'exports: unused in libs/ledger/src/books.ts',
      'files: libs/ledger/src/forgotten.ts in libs/ledger/src/forgotten.ts',
      'types: Unused in libs/operations/src/edges.ts',
      'unlisted: jose in apps/cli/src/print.ts',
    ]);
  });
});
