import { type Command, Option } from 'commander';
import { benchClient } from './client.js';
import { bench, count, onProgress, print } from './command-options.js';
import { benchFresh } from './fresh.js';
import { benchGateway } from './gateway.js';
import { benchGrown } from './grown.js';
import { benchLists } from './lists.js';
import { benchOrders, CASES } from './orders.js';
import { benchReads } from './reads.js';
import { benchReplica, reportReplica } from './replica.js';
import { benchSettled } from './settled.js';

/** The benches that measure the service beside a control. */
export function addComparisons(program: Command): void {
  bench(
    program,
    'reads',
    'reading transfers and reference data',
    'Reads through the service, compared with a bare Fastify server without access checks and logs.',
  )
    .addOption(count('--transfers', 'transfers in the books', 10_000))
    .addOption(count('--grown-to', 'transfers in the larger books of the comparison', 1_000_000))
    .action(async ({ json, ...options }) => print(await benchReads({ ...options, onProgress }), json));

  bench(
    program,
    'lists',
    'pages of a long list',
    'Reads a late page of the transfers, compared with the first page. Then reads first pages, compared with a bare Fastify server.',
  )
    .addOption(count('--transfers', 'transfers in the books', 1_000_000))
    .addOption(count('--page', 'page to compare with the first page, of 100 transfers each', 1_000))
    .action(async ({ json, ...options }) => print(await benchLists({ ...options, onProgress }), json));

  bench(
    program,
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
    program,
    'settled',
    'placing and carrying out orders',
    'Places orders over HTTP and carries them out with all events of the network, until nothing is pending. Compares that with orders ' +
      'accepted without a worker, and one process with two.',
    { seconds: 30 },
  )
    .addOption(count('--accounts', 'accounts that place the orders', 1_000))
    .action(async ({ json, ...options }) => print(await benchSettled({ ...options, onProgress }), json));

  bench(
    program,
    'fresh',
    'a new database in its first minute',
    'Places orders over HTTP in a new database, compared with the same database after ANALYZE. Each round makes a new database.',
    { seconds: 60 },
  )
    .addOption(count('--accounts', 'accounts that place the orders', 1_000))
    .action(async ({ json, ...options }) => print(await benchFresh({ ...options, onProgress }), json));

  bench(
    program,
    'grown',
    'reads, lists and orders in large books',
    'Reads transfers and lists and places orders over HTTP in large books, compared with small books.',
  )
    .addOption(count('--accounts', 'accounts of the transfers, which place the orders too', 1_000, 2))
    .addOption(count('--transfers', 'transfers in the small books', 10_000))
    .addOption(count('--grown-to', 'transfers in the large books', 5_000_000))
    .action(async ({ json, ...options }) => print(await benchGrown({ ...options, onProgress }), json));

  bench(
    program,
    'client',
    'cost and memory growth of client calls',
    'Reads recorded transfers with the client, compared with fetch in the same process. Then measures memory growth.',
    { connections: 16 },
  )
    .addOption(count('--calls', 'calls of the memory measurement', 200_000, 10))
    .action(async ({ json, ...options }) => print(await benchClient({ ...options, onProgress }), json));

  bench(
    program,
    'gateway',
    'reading through a gateway',
    'Reads transfers through a gateway, compared with a bare Fastify proxy of the same upstream. Then measures memory growth.',
    { connections: 16 },
  )
    .addOption(count('--requests', 'requests of the memory measurement', 200_000, 10))
    .action(async ({ json, ...options }) => print(await benchGateway({ ...options, onProgress }), json));

  bench(
    program,
    'replica',
    'lists on a replica',
    'Reads first pages of 25 transfers with and without a streaming replica. Prints the processor time of both databases. Linux only.',
  )
    .addOption(count('--accounts', 'accounts that hold the transfers', 1_000))
    .action(async ({ json, ...options }) => {
      const results = await benchReplica({ ...options, onProgress });
      process.stdout.write(`${json ? JSON.stringify(results, null, 2) : reportReplica(results)}\n`);
    });
}
