import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { exitCodeOf } from './arguments.mjs';
import { compile } from './compile.mjs';
import { projectFolders, ROOT, run } from './programs.mjs';
import { Tally } from './tally.mjs';

const USAGE = `Usage: npm run prove [-- long]

Runs the long checks that npm test omits (*.prove.spec.ts), such as the published packages under other versions of Node, and in full the
specs of which npm test runs a part, such as a few of the random runs. No result comes from a cache.

With long, runs instead what takes minutes (*.long.spec.ts): each benchmark once, runs under faults, recoveries, and the
contract suite through two gateways.

Lists the ten slowest spec files. The last line is "N passed, N failed", with ", N skipped" if tests were skipped.

Options:
  -h, --help  print this help

Exit codes: 0 success; 1 a check failed; 2 wrong usage.
`;

const RESULTS = join(ROOT, 'tmp/prove.json');

const IN_FULL = /\btestOrProve\(|BANKING_TEST_IN_FULL/;

/** The specs that differ between `npm test` and this. */
function specsInFull() {
  const specs = projectFolders().flatMap((folder) => {
    const source = join(ROOT, folder, 'src');
    const names = existsSync(source) ? readdirSync(source, { recursive: true }) : [];
    return names.filter((name) => /(?<!\.(?:prove|long))\.spec\.ts$/.test(name)).map((name) => join(source, name));
  });
  return specs.filter((path) => IN_FULL.test(readFileSync(path, 'utf8')));
}

/** The results of each spec file, in the form of Jest's option --json; none if Jest did not complete. */
function specFiles() {
  return existsSync(RESULTS) ? JSON.parse(readFileSync(RESULTS, 'utf8')).testResults : [];
}

function countsOf({ name, status, startTime, endTime, assertionResults }) {
  const count = (...wanted) => assertionResults.filter((test) => wanted.includes(test.status)).length;
  const failed = count('failed');
  return {
    passed: count('passed'),
    failed: status === 'failed' && failed === 0 ? 1 : failed,
    skipped: count('pending', 'todo', 'disabled', 'skipped'),
    files: [{ path: relative(ROOT, name), ms: endTime - startTime }],
  };
}

async function main(args) {
  const usageExit = exitCodeOf(args, USAGE, ['long']);
  if (usageExit !== undefined) return usageExit;

  const tally = new Tally();
  if ((await compile()) !== 0) tally.addFailure('types and build');
  mkdirSync(dirname(RESULTS), { recursive: true });
  rmSync(RESULTS, { force: true });
  process.env.BANKING_TEST_IN_FULL = 'on';
  const specs =
    args.length > 0 ? ['<rootDir>/src/**/*.long.spec.ts'] : ['<rootDir>/src/**/*.prove.spec.ts', ...specsInFull()];
  const results = ['--json', `--outputFile=${RESULTS}`, '--reporters=default'];
  const exitCode = await run('jest/bin/jest.js', [...results, ...specs.map((spec) => `--testMatch=${spec}`)]);
  for (const file of specFiles()) tally.addTests(relative(ROOT, file.name), countsOf(file));
  if (exitCode !== 0 && tally.failed === 0) tally.addFailure('jest did not complete');
  if (tally.passed === 0) tally.addFailure('no test ran');
  return tally.report();
}

process.exitCode = await main(process.argv.slice(2));
