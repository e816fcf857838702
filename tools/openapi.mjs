import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { exitCodeOf } from './arguments.mjs';
import { drawStates } from './state-diagrams.mjs';

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
  const { STATE_DIAGRAMS } = require(join(ROOT, 'apps/api/dist/docs/introduction.js'));
  const domain = createRequire(join(ROOT, 'apps/api/package.json'))('@banking/domain');
  const { ORDER_STEPS, EXECUTION_STEPS, TRANSACTION_STEPS, PAYOUT_STEPS, EVENT_TYPES } = domain;
  const tables = {
    order: ORDER_STEPS,
    execution: EXECUTION_STEPS,
    transaction: TRANSACTION_STEPS,
    payout: PAYOUT_STEPS,
  };
  for (const diagram of STATE_DIAGRAMS) {
    const resource = diagram.name.replace('-states', '');
    const types = EVENT_TYPES.filter((row) => row.resource === resource);
    const svg = await drawStates(diagram, tables[resource], types);
    writeFileSync(join(ROOT, IMAGES, `${diagram.name}.svg`), svg);
    process.stdout.write(`Wrote ${IMAGES}/${diagram.name}.svg.\n`);
  }
} else {
  process.exitCode = exitCode;
}
