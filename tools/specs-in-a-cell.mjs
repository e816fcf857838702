import { exitCodeOf } from './arguments.mjs';
import { run } from './programs.mjs';

/** The libraries whose specs use all tables and no second database. */
const LIBRARIES = ['operations', 'payouts', 'work-queue', 'books-proof', 'reference'];
const BRIEF = '--brief';
/** The specs that show the most in a short time: isolation, orders in batches, and the queue. */
const BRIEF_SPECS = ['isolation.spec', 'orders/orders.spec', 'orders/order-batcher', 'work-queue/src'];
/** The trail of the directory is at home only. */
const AT_HOME = ['verify-trails'];

const USAGE = `Usage: npm run specs:in-a-cell -- [--brief]

Runs the specs of the libraries ${LIBRARIES.join(', ')} in a database that is a cell of a deployment with several: its
sequences step by 64, and each scope is checked against the workspaces that are open in it. Takes about five minutes.

Options:
  --brief     only a few of them, in half a minute
  -h, --help  print this help

Exit codes: 0 every test passed; 1 a test failed; 2 wrong usage.
`;

async function main(args) {
  const usageExit = exitCodeOf(args, USAGE, [BRIEF]);
  if (usageExit !== undefined) return usageExit;
  // Read by tools/test-run/on-postgres.cjs.
  process.env.BANKING_TEST_IN_A_CELL = 'on';
  return run('jest/bin/jest.js', [
    ...(args.includes(BRIEF) ? BRIEF_SPECS : []),
    ...['--projects', ...LIBRARIES.map((name) => `libs/${name}`)],
    ...['--testPathIgnorePatterns', ...AT_HOME, 'prove.spec'],
    ...['--reporters=default', '--silent'],
  ]);
}

process.exitCode = await main(process.argv.slice(2));
