import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { exitCodeOf } from './arguments.mjs';

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const FILE = 'apps/api/openapi.json';
const IMAGES = 'docs/images';

const USAGE = `Usage: npm run openapi

Writes ${FILE} from the declared routes, without the examples that the service adds. Review the difference before you commit it, because integrators
generate code from this file. Writes the diagrams of states in ${IMAGES} from the state tables. Tests compare
the files with the service.

Options:
  -h, --help  print this help
`;

const exitCode = exitCodeOf(process.argv.slice(2), USAGE);
if (exitCode === undefined) {
  execFileSync(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), '--build'], {
    cwd: ROOT,
    stdio: 'inherit',
  });
  const require = createRequire(import.meta.url);
  const { offlineDocument } = require(join(ROOT, 'apps/api/dist/docs/offline-document.js'));
  const { committedForm } = require(join(ROOT, 'apps/api/dist/docs/committed-document.js'));
  const text = JSON.stringify(committedForm(await offlineDocument()));
  writeFileSync(join(ROOT, FILE), await format(text, { ...(await resolveConfig(join(ROOT, FILE))), parser: 'json' }));
  process.stdout.write(`Wrote ${FILE}.\n`);
  const { STATE_DIAGRAMS } = require(join(ROOT, 'apps/api/dist/docs/state-diagrams/state-diagrams.js'));
  const { drawDiagram } = require(join(ROOT, 'apps/api/dist/docs/state-diagrams/draw-diagram.js'));
  for (const diagram of STATE_DIAGRAMS) {
    writeFileSync(join(ROOT, IMAGES, `${diagram.name}.svg`), drawDiagram(diagram));
    process.stdout.write(`Wrote ${IMAGES}/${diagram.name}.svg.\n`);
  }
} else {
  process.exitCode = exitCode;
}
