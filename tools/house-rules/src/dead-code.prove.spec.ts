import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { ROOT } from './workspace.js';
import { WorkspaceCopy } from './workspace-copy.js';

interface Issue {
  readonly file: string;
  readonly [kind: string]: unknown;
}

/** The issues that knip reports with the configuration of the workspace, each as `kind: name in file`. */
function deadIn(folder: string): string[] {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(ROOT, 'node_modules/knip/bin/knip.js'), '--reporter', 'json', '--treat-config-hints-as-errors'],
    { cwd: folder, encoding: 'utf8' },
  );
  if (status !== 0 && status !== 1) throw new Error(`knip ended with ${status}: ${stderr}`);
  const { issues } = JSON.parse(stdout) as { issues: Issue[] };
  const reported = issues.flatMap(({ file, ...kinds }) =>
    Object.entries(kinds).flatMap(([kind, names]) =>
      Array.isArray(names) ? names.map(({ name }: { name: string }) => `${kind}: ${name} in ${file}`) : [],
    ),
  );
  return status === 1 && reported.length === 0 ? ['knip.jsonc has a line without effect: npx knip names it'] : reported;
}

describe('knip', () => {
  const copy = new WorkspaceCopy();

  afterAll(() => copy.remove());

  it('reports no dead code in the repository', () => {
    expect(deadIn(ROOT)).toEqual([]);
  });

  it('reports each kind of dead code in a copy of the repository, and nothing else', () => {
    copy.write('libs/ledger/src/unread.ts', 'export const unread = 1;\n');
    copy.write('libs/ledger/src/books.ts', `${copy.read('libs/ledger/src/books.ts')}export const unused = 1;\n`);
    copy.write(
      'libs/operations/src/resources/reading.ts',
      `${copy.read('libs/operations/src/resources/reading.ts')}export type Unused = 1;\n`,
    );
    copy.write('apps/cli/src/print.ts', `import 'jose';\n${copy.read('apps/cli/src/print.ts')}`);
    copy.change('libs/ledger/package.json', '"dependencies": {', '"dependencies": {\n    "pino": "10.4.0",');

    expect(deadIn(copy.folder).sort()).toEqual([
      'dependencies: pino in libs/ledger/package.json',
      'exports: unused in libs/ledger/src/books.ts',
      'files: libs/ledger/src/unread.ts in libs/ledger/src/unread.ts',
      'types: Unused in libs/operations/src/resources/reading.ts',
      'unlisted: jose in apps/cli/src/print.ts',
    ]);
  });
});
