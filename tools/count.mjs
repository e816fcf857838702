import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { exitCodeOf } from './arguments.mjs';
import { ROOT } from './programs.mjs';

const USAGE = `Usage: npm run count

Counts the lines of the tracked files by purpose, the files, and the words of the documents.

Options:
  -h, --help  print this help

Exit codes: 0 success; 2 wrong usage.
`;

const CODE = /\.(?:ts|tsx|mts|cts|js|mjs|cjs)$/;
/** The first that fits. */
const PURPOSES = [
  ['tools', (path) => /^(?:tools|\.ci)\//.test(path) && CODE.test(path)],
  ['end-to-end tests', (path) => path.startsWith('apps/api-e2e/') && CODE.test(path)],
  ['specs and their worlds', (path) => CODE.test(path) && /\.spec\.ts$|\/testing\//.test(path)],
  ['product', (path) => /^(?:apps|libs)\//.test(path) && CODE.test(path)],
  ['SQL', (path) => path.endsWith('.sql')],
];

function count() {
  const files = execFileSync('git', ['ls-files'], { cwd: ROOT, encoding: 'utf8' }).trimEnd().split('\n');
  const rows = new Map([...PURPOSES.map(([name]) => [`lines of ${name}`, 0]), ['words of documents', 0]]);
  for (const path of files) {
    const [purpose] = PURPOSES.find(([, holds]) => holds(path)) ?? [];
    const isDocument = path.endsWith('.md');
    if (purpose === undefined && !isDocument) continue;
    const text = readFileSync(join(ROOT, path), 'utf8');
    const [name, more] = isDocument
      ? ['words of documents', text.split(/\s+/).filter((word) => word !== '').length]
      : [`lines of ${purpose}`, text.split('\n').length - 1];
    rows.set(name, rows.get(name) + more);
  }
  rows.set('files', files.length);
  for (const [name, number] of rows) process.stdout.write(`${String(number).padStart(8)} ${name}\n`);
}

process.exitCode = exitCodeOf(process.argv.slice(2), USAGE) ?? (count(), 0);
