import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { BENCHES, benchAll } from './all.js';
import { benchCells, reportCells } from './cells.js';
import { benchClient } from './client.js';
import { benchFresh } from './fresh.js';
import { benchGateway } from './gateway.js';
import { benchGrown } from './grown.js';
import { benchLists } from './lists.js';
import { benchMemory } from './memory.js';
import { benchMetrics, reportMetrics } from './metrics.js';
import { benchOrders, CASES } from './orders.js';
import type { Result } from './request.js';
import { benchReads } from './reads.js';
import { benchReplica, reportReplica } from './replica.js';
import { publish } from './publish.js';
import { report } from './report.js';
import { benchSettled } from './settled.js';
import { benchSizing, reportSizing } from './sizing.js';
import { readSummary } from './summary.js';
import { tableOf } from './table.js';
import { chartOf } from './chart.js';
import { benchTraces, reportTraces } from './traces.js';
import { benchVerification, reportVerification } from './verification.js';

const MISUSED = 2;
const COMMANDS = [...BENCHES, 'replica', 'metrics', 'traces', 'cells', 'sizing', 'all', 'table', 'chart', 'publish'];

function wholeFrom(least: number): (text: string) => number {
  return (text) => {
    const value = /^[0-9]{1,9}$/.test(text) ? Number(text) : NaN;
    if (!(value >= least)) throw new InvalidArgumentError(`Give a whole number, ${least} or more.`);
    return value;
  };
}

/** A part of a second is for a spec: a round of one second would take most of its time. */
function secondsOf(text: string): number {
  return /^0\.[1-9]$/.test(text) ? Number(text) : wholeFrom(1)(text);
}

const program = new Command('bench')
  .description(
    'Compares the service with a control, measured on the same machine in the same run. See docs/performance.md for the figures.',
  )
  .exitOverride()
  .showHelpAfterError()
  .allowExcessArguments(false);

/** A command with the options of every measurement. */
function bench(
  name: string,
  summary: string,
  description: string,
  { connections = 32, seconds = 5 }: { readonly connections?: number; readonly seconds?: number } = {},
): Command {
  return program
    .command(name)
    .summary(summary)
    .description(description)
    .addOption(count('--rounds', 'rounds that measure each pair', 5))
    .addOption(
      new Option('--seconds <count>', 'seconds per side and round; 0.1 to 0.9 only try the command')
        .argParser(secondsOf)
        .default(seconds),
    )
    .addOption(count('--connections', 'concurrent connections', connections))
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
  'Reads through the service, compared with a bare Fastify server without access checks and logs.',
)
  .addOption(count('--transfers', 'transfers in the books', 10_000))
  .addOption(count('--grown-to', 'transfers in the larger books of the comparison', 1_000_000))
  .action(async ({ json, ...options }) => print(await benchReads({ ...options, onProgress }), json));

bench(
  'lists',
  'pages of a long list',
  'Reads a late page of the transfers, compared with the first page. Then reads first pages, compared with a bare Fastify server.',
)
  .addOption(count('--transfers', 'transfers in the books', 1_000_000))
  .addOption(count('--page', 'page to compare with the first page, of 100 transfers each', 1_000))
  .action(async ({ json, ...options }) => print(await benchLists({ ...options, onProgress }), json));

bench(
  'orders',
  'placing orders',
  'Places orders in process and over HTTP, compared with single orders and with a minimal ledger.',
)
  .addOption(count('--accounts', 'accounts that place the orders', 1_000))
  .addOption(count('--workspaces', 'workspaces of the accounts', 100))
  .addOption(count('--callers', 'concurrent callers in process', 128))
  .addOption(new Option('--cases <names...>', 'distribution of the orders').choices(CASES).default(CASES))
  .action(async ({ json, ...options }) => print(await benchOrders({ ...options, onProgress }), json));

bench(
  'settled',
  'placing and carrying out orders',
  'Places orders over HTTP and carries them out with all events of the network, until nothing is pending. Compares that with orders ' +
    'accepted without a worker, and one process with two.',
  { seconds: 30 },
)
  .addOption(count('--accounts', 'accounts that place the orders', 1_000))
  .action(async ({ json, ...options }) => print(await benchSettled({ ...options, onProgress }), json));

bench(
  'fresh',
  'a new database in its first minute',
  'Places orders over HTTP in a new database, compared with the same database after ANALYZE. Each round makes a new database.',
  { seconds: 60 },
)
  .addOption(count('--accounts', 'accounts that place the orders', 1_000))
  .action(async ({ json, ...options }) => print(await benchFresh({ ...options, onProgress }), json));

bench(
  'grown',
  'reads, lists and orders in large books',
  'Reads transfers and lists and places orders over HTTP in large books, compared with small books.',
)
  .addOption(count('--accounts', 'accounts of the transfers, which place the orders too', 1_000, 2))
  .addOption(count('--transfers', 'transfers in the small books', 10_000))
  .addOption(count('--grown-to', 'transfers in the large books', 5_000_000))
  .action(async ({ json, ...options }) => print(await benchGrown({ ...options, onProgress }), json));

program
  .command('memory')
  .summary('memory of the service under load')
  .description(
    'Places orders and reads transfers and lists. Prints the highest resident memory of the service, and its slope.',
  )
  .addOption(count('--seconds', 'seconds of load', 600))
  .addOption(count('--connections', 'concurrent connections', 32))
  .addOption(count('--transfers', 'transfers in the books', 10_000))
  .addOption(count('--accounts', 'accounts that place the orders', 1_000))
  .option('--json', 'print every sample as JSON')
  .action(async ({ json, ...options }) => print(await benchMemory({ ...options, onProgress }), json));

bench(
  'client',
  'cost and memory growth of client calls',
  'Reads recorded transfers with the client, compared with fetch in the same process. Then measures memory growth.',
  { connections: 16 },
)
  .addOption(count('--calls', 'calls of the memory measurement', 200_000, 10))
  .action(async ({ json, ...options }) => print(await benchClient({ ...options, onProgress }), json));

bench(
  'gateway',
  'reading through a gateway',
  'Reads transfers through a gateway, compared with a bare Fastify proxy of the same upstream. Then measures memory growth.',
  { connections: 16 },
)
  .addOption(count('--requests', 'requests of the memory measurement', 200_000, 10))
  .action(async ({ json, ...options }) => print(await benchGateway({ ...options, onProgress }), json));

program
  .command('verification')
  .summary('cost of the continuous verification')
  .description(
    'Places, pays out and verifies orders. Prints the share of the verification in the processor time. Linux only.',
  )
  .addOption(count('--seconds', 'seconds of placing orders', 20))
  .addOption(count('--connections', 'concurrent connections', 32))
  .addOption(count('--accounts', 'accounts that place the orders', 1_000))
  .option('--json', 'print the measurement as JSON')
  .action(async ({ json, ...options }) => {
    const result = await benchVerification({ ...options, onProgress });
    process.stdout.write(`${json ? JSON.stringify(result, null, 2) : reportVerification(result)}\n`);
  });

bench(
  'replica',
  'lists on a replica',
  'Reads first pages of 25 transfers with and without a streaming replica. Prints the processor time of both databases. Linux only.',
)
  .addOption(count('--accounts', 'accounts that hold the transfers', 1_000))
  .action(async ({ json, ...options }) => {
    const results = await benchReplica({ ...options, onProgress });
    process.stdout.write(`${json ? JSON.stringify(results, null, 2) : reportReplica(results)}\n`);
  });

program
  .command('metrics')
  .summary('cost of metrics')
  .description(
    'Reads and places orders over HTTP, with METRICS_PORT and a scraper and without. Prints the processor time of a request in Node. ' +
      'Linux only.',
  )
  .addOption(count('--rounds', 'rounds that measure each pair', 100))
  .addOption(count('--requests', 'requests per side and round', 1_000))
  .addOption(count('--connections', 'concurrent connections', 16))
  .addOption(count('--accounts', 'accounts that place the orders', 1_000))
  .option('--json', 'print the measurement as JSON')
  .action(async ({ json, ...options }) => {
    const figures = await benchMetrics({ ...options, onProgress });
    process.stdout.write(`${json ? JSON.stringify(figures, null, 2) : reportMetrics(figures)}\n`);
  });

program
  .command('traces')
  .summary('cost of traces')
  .description(
    'Reads and places orders over HTTP, with traces and without. Prints the processor time of a request in Node. Linux only.',
  )
  .addOption(count('--rounds', 'rounds that measure each pair', 100))
  .addOption(count('--requests', 'requests per side and round', 1_000))
  .addOption(count('--connections', 'concurrent connections', 16))
  .addOption(count('--accounts', 'accounts that place the orders', 1_000))
  .addOption(count('--percent', 'percentage of the traces that is recorded', 1))
  .option('--json', 'print the measurement as JSON')
  .action(async ({ json, percent, ...options }) => {
    const ratio = percent / 100;
    const figures = await benchTraces({ ...options, ratio, onProgress });
    process.stdout.write(`${json ? JSON.stringify(figures, null, 2) : reportTraces(figures, ratio)}\n`);
  });

program
  .command('cells')
  .summary('cost of several databases')
  .description(
    'Reads and places orders over HTTP with three databases and with one. Prints the processor time of a request in Node and in ' +
      'PostgreSQL. Linux only.',
  )
  .addOption(count('--rounds', 'rounds that measure each pair', 20))
  .addOption(count('--requests', 'requests per side and round', 1_000))
  .addOption(count('--connections', 'concurrent connections', 16))
  .addOption(count('--accounts', 'accounts that place the orders', 1_000))
  .option('--json', 'print the measurement as JSON')
  .action(async ({ json, ...options }) => {
    const figures = await benchCells({ ...options, onProgress });
    process.stdout.write(`${json ? JSON.stringify(figures, null, 2) : reportCells(figures)}\n`);
  });

program
  .command('sizing')
  .summary('processor time, bytes and log of an order')
  .description(
    'Places orders over HTTP and carries them out. Prints the processor time, the bytes of tables and indexes and the write-ahead log of ' +
      'an order, from which docs/sizing.md computes cells and disks. Linux only.',
  )
  .addOption(count('--seconds', 'seconds of placing orders', 30))
  .addOption(count('--connections', 'concurrent connections, which is the size of a batch at most', 64))
  .addOption(count('--accounts', 'accounts that place the orders', 1_000))
  .option('--json', 'print the measurement as JSON')
  .action(async ({ json, ...options }) => {
    const result = await benchSizing({ ...options, onProgress });
    process.stdout.write(`${json ? JSON.stringify(result, null, 2) : reportSizing(result)}\n`);
  });

program
  .command('all')
  .summary('every bench')
  .description(
    'Runs every bench, each in a process of its own, and prints a table in Markdown. Takes about 80 minutes.',
  )
  .option(
    '--json <file>',
    'write machine, versions, date and figures; benches that do not run keep their figures in the file',
  )
  .addOption(new Option('--only <names...>', 'benches to run').choices(BENCHES).default(BENCHES))
  .addOption(new Option('--rounds <count>', 'rounds of the benches that compare (default: 5)').argParser(wholeFrom(1)))
  .option('--brief', 'the smallest sizes, to try the commands; the figures mean nothing', false)
  .action(async ({ json, only, brief, rounds }) => {
    process.stdout.write(`${tableOf(await benchAll({ file: json, only, isBrief: brief, rounds, onProgress }))}\n`);
  });

program
  .command('table')
  .argument('<file>', 'a file of bench all --json')
  .description('Prints the figures of a file as Markdown.')
  .action((file: string) => {
    process.stdout.write(`${tableOf(readSummary(file))}\n`);
  });

program
  .command('chart')
  .argument('<file>', 'a file of bench all --json')
  .description('Prints a bar chart of the figures of a file, each beside its control, as SVG.')
  .action((file: string) => {
    process.stdout.write(chartOf(readSummary(file)));
  });

program
  .command('publish')
  .argument('<file>', 'a file of bench all --json')
  .description('Writes the figures of a file into docs/performance.md, and the file and its chart beside it.')
  .action((file: string) => publish(file));

async function main(): Promise<void> {
  if (process.argv.length < 3) program.error(`error: missing command: ${COMMANDS.join(', ')}`);
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
