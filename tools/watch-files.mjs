import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { exitCodeOf } from './arguments.mjs';

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const LIBRARY = 'libs/telemetry';

const USAGE = `Usage: npm run watch:write

Writes the alert rules, their tests and the dashboard from the lists of metrics and alerts in ${LIBRARY}.
A test compares the files with the lists.

Options:
  -h, --help  print this help
`;

const exitCode = exitCodeOf(process.argv.slice(2), USAGE);
if (exitCode === undefined) {
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc');
  execFileSync(process.execPath, [compiler, '--build', `${LIBRARY}/tsconfig.build.json`], {
    cwd: ROOT,
    stdio: 'inherit',
  });
  const require = createRequire(import.meta.url);
  const { WRITTEN_FILES } = require(join(ROOT, LIBRARY, 'dist/watch/files.js'));
  for (const [name, contentOf] of Object.entries(WRITTEN_FILES)) {
    const file = join(ROOT, name);
    writeFileSync(file, contentOf());
    process.stdout.write(`Wrote ${name}.\n`);
  }
} else {
  process.exitCode = exitCode;
}
