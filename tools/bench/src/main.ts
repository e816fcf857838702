import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { benchClient } from './client.js';
import { benchGateway } from './gateway.js';
import { benchLists } from './lists.js';
import { benchOrders, CASES } from './orders.js';
import type { Result } from './question.js';
import { benchReads } from './reads.js';
import { report } from './report.js';

const MISUSED = 2;

function wholeFrom(least: number): (text: string) => number {
  return (text) => {
    const value = /^[0-9]{1,9}$/.test(text) ? Number(text) : NaN;
    if (!(value >= least)) throw new InvalidArgumentError(`Give a whole number, ${least} or more.`);
    return value;
  };
}

const program = new Command('bench')
  .description(
    'Measures the service in pairs with a control, on this machine, in this run. docs/performance.md explains the figures.',
  )
  .exitOverride()
  .showHelpAfterError()
  .allowExcessArguments(false);

/** What every bench can be told. */
function bench(name: string, summary: string, description: string, connections = 32): Command {
  return program
    .command(name)
    .summary(summary)
    .description(description)
    .addOption(count('--rounds', 'how often each pair is measured', 5))
    .addOption(count('--seconds', 'how long each side is asked in a round', 5))
    .addOption(count('--connections', 'connections that ask at once', connections))
    .option('--json', 'print every measurement as JSON');
}

const count = (name: string, meaning: string, otherwise: number, least = 1) =>
  new Option(`${name} <count>`, meaning).argParser(wholeFrom(least)).default(otherwise);

const onProgress = (line: string) => process.stderr.write(`${line}\n`);

function print(result: Result, asJson: boolean | undefined): void {
  process.stdout.write(`${asJson ? JSON.stringify(result, null, 2) : report(result)}\n`);
}

bench(
  'reads',
  'reading transfers and reference data',
  'Reads through the service, against a bare Fastify that does the same without access checks and logs.',
)
  .addOption(count('--transfers', 'transfers in the books', 10_000))
  .addOption(count('--grown-to', 'transfers in the books it is compared with', 1_000_000))
  .action(async ({ json, ...options }) => print(await benchReads({ ...options, onProgress }), json));

bench('lists', 'a late page of a long list', 'Reads a late page of the transfers, against the first.')
  .addOption(count('--transfers', 'transfers in the books', 1_000_000))
  .addOption(count('--page', 'which page is compared with the first, of 100 transfers each', 1_000))
  .action(async ({ json, ...options }) => print(await benchLists({ ...options, onProgress }), json));

bench(
  'orders',
  'placing orders',
  'Places orders in process and over HTTP, against the same orders one at a time and against a ledger with nothing to it.',
)
  .addOption(count('--accounts', 'accounts the orders are spread over', 1_000))
  .addOption(count('--workspaces', 'workspaces as many accounts lie in', 100))
  .addOption(count('--callers', 'callers that ask at once in process', 64))
  .addOption(new Option('--cases <names...>', 'what the orders are spread over').choices(CASES).default(CASES))
  .action(async ({ json, ...options }) => print(await benchOrders({ ...options, onProgress }), json));

bench(
  'client',
  'what a call of the client costs, and whether it keeps anything',
  'Reads recorded transfers with the client, against bare fetch in the same process; then watches its memory.',
  16,
)
  .addOption(count('--calls', 'calls its memory is watched over', 200_000, 10))
  .action(async ({ json, ...options }) => print(await benchClient({ ...options, onProgress }), json));

bench(
  'gateway',
  'reading through a gateway',
  'Reads transfers through a gateway, against a bare Fastify that passes on what the same upstream sends; then watches its memory.',
  16,
)
  .addOption(count('--requests', 'requests its memory is watched over', 200_000, 10))
  .action(async ({ json, ...options }) => print(await benchGateway({ ...options, onProgress }), json));

async function main(): Promise<void> {
  if (process.argv.length < 3) program.error('error: say what to measure: reads, lists, orders, client or gateway');
  await program.parseAsync();
}

main().catch((error: unknown) => {
  if (error instanceof CommanderError) {
    process.exitCode = error.exitCode === 0 ? 0 : MISUSED;
  } else {
    console.error(error);
    process.exitCode = 1;
  }
});
