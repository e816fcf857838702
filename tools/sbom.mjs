import { exitCodeOf } from './arguments.mjs';
import { ROOT } from './programs.mjs';
import { readBillOfMaterials } from './release/bill-of-materials.mjs';

const USAGE = `Usage: npm run -s sbom

Prints the packages that api, cli and worker run with, each with license and hash, in the format of CycloneDX.

Options:
  -h, --help  print this help

Exit codes: 0 success; 1 npm failed; 2 wrong usage.
`;

process.exitCode = exitCodeOf(process.argv.slice(2), USAGE) ?? (await print());

async function print() {
  process.stdout.write(`${JSON.stringify(await readBillOfMaterials(ROOT), null, 2)}\n`);
  return 0;
}
