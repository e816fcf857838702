import { type Command, Option } from 'commander';
import { CELLS } from './cells-world.js';
import { benchCells, reportCells } from './cells.js';
import { benchCellsThroughput, reportCellsThroughput } from './cells-throughput.js';
import { count, onProgress, print } from './command-options.js';
import { benchMemory } from './memory.js';
import { benchMetrics, reportMetrics } from './metrics.js';
import { benchSizing, reportSizing } from './sizing.js';
import { benchTraces, reportTraces } from './traces.js';
import { benchVerification, reportVerification } from './verification.js';

/** The benches that measure what a part of the service costs. */
export function addCosts(program: Command): void {
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
    .addOption(new Option('--cell <name>', 'the database of the workspace').choices(CELLS).default('home'))
    .option('--json', 'print the measurement as JSON')
    .action(async ({ json, ...options }) => {
      const figures = await benchCells({ ...options, onProgress });
      process.stdout.write(`${json ? JSON.stringify(figures, null, 2) : reportCells(figures)}\n`);
    });

  program
    .command('cells-throughput')
    .summary('orders over one, two and three databases')
    .description(
      'Places orders over HTTP in workspaces of one, two and three databases on this machine. Prints orders per second and the processor ' +
        'time of an order, which shows whether the databases share anything but the machine. Linux only.',
    )
    .addOption(count('--seconds', 'seconds of placing orders', 20))
    .addOption(count('--connections', 'concurrent connections for each database', 64))
    .addOption(count('--accounts', 'accounts of each database', 200))
    .option('--json', 'print the measurement as JSON')
    .action(async ({ json, ...options }) => {
      const figures = await benchCellsThroughput({ ...options, onProgress });
      process.stdout.write(`${json ? JSON.stringify(figures, null, 2) : reportCellsThroughput(figures)}\n`);
    });

  program
    .command('sizing')
    .summary('processor time, bytes and log of an order')
    .description(
      'Places orders over HTTP and carries them out. Prints the processor time, the bytes of tables and indexes and the write-ahead log of ' +
        'an order, from which docs/performance.md computes cells and disks. Linux only.',
    )
    .addOption(count('--seconds', 'seconds of placing orders', 30))
    .addOption(count('--connections', 'concurrent connections, which is the size of a batch at most', 64))
    .addOption(count('--accounts', 'accounts that place the orders', 1_000))
    .option('--json', 'print the measurement as JSON')
    .action(async ({ json, ...options }) => {
      const result = await benchSizing({ ...options, onProgress });
      process.stdout.write(`${json ? JSON.stringify(result, null, 2) : reportSizing(result)}\n`);
    });
}
