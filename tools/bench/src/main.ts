import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { type Effort, type Figure, tableOf } from './compare.js';
import { benchOrders, benchSettled, CASES } from './orders.js';
import { benchClient, benchGateway, benchLists, benchReads } from './reads.js';

const MISUSED = 2;

/** Progress is not output: a table can be piped to a file. */
const onProgress = (line: string) => process.stderr.write(`${line}\n`);

const wholeFrom = (least: number) => (text: string) => {
  const value = /^[0-9]{1,9}$/.test(text) ? Number(text) : NaN;
  if (!(value >= least)) throw new InvalidArgumentError(`Give a whole number, ${least} or more.`);
  return value;
};

const count = (name: string, meaning: string, otherwise: number) =>
  new Option(`${name} <count>`, meaning).argParser(wholeFrom(1)).default(otherwise);

/** A part of a second only tries the command. */
const seconds = (text: string) => (/^0\.[1-9]$/.test(text) ? Number(text) : wholeFrom(1)(text));

const program = new Command('bench')
  .description(
    'Compares the service with what its user could choose instead, on the same machine in the same run. See docs/performance.md for the ' +
      'figures.',
  )
  .exitOverride()
  .showHelpAfterError()
  .allowExcessArguments(false)
  .addHelpText('after', '\nExit codes: 0 success; 1 a bench failed; 2 wrong usage.');

/** A command with the options of every bench. */
function bench<Options>(
  name: string,
  description: string,
  run: (options: Effort & Options) => Promise<Figure[]>,
  own: readonly Option[] = [],
  { connections = 32, seconds: otherwise = 5 } = {},
): void {
  const command = program
    .command(name)
    .description(description)
    .addOption(count('--rounds', 'rounds that measure each pair', 5))
    .addOption(new Option('--seconds <count>', 'seconds per side and round').argParser(seconds).default(otherwise))
    .addOption(count('--connections', 'concurrent connections', connections))
    .option('--json', 'print the figures as JSON');
  for (const option of own) command.addOption(option);
  command.action(async ({ json, ...options }: Effort & Options & { json?: boolean }) => {
    const figures = await run({ ...(options as unknown as Effort & Options), onProgress });
    process.stdout.write(`${json ? JSON.stringify(figures, null, 2) : tableOf(figures)}\n`);
  });
}

const accounts = () => count('--accounts', 'accounts that place the orders', 1_000);
const transfers = (otherwise: number) => count('--transfers', 'transfers in the books', otherwise);

bench(
  'reads',
  'Reads transfers and reference data, compared with a bare Fastify server without access checks and logs.',
  benchReads,
  [transfers(10_000)],
);
bench(
  'lists',
  'Reads a late page of the transfers, compared with the first page. Then reads first pages, compared with a bare Fastify server.',
  benchLists,
  [transfers(1_000_000), count('--page', 'page to compare with the first page, of 100 transfers each', 1_000)],
);
bench('orders', 'Places orders over HTTP, compared with a minimal ledger in the database.', benchOrders, [
  accounts(),
  count('--workspaces', 'workspaces of the accounts', 100),
  new Option('--cases <names...>', 'distribution of the orders').choices(CASES).default(CASES),
  new Option('--against <folder>', 'a built checkout of another version, to compare the CPU time with').argParser(
    (folder: string) => resolve(folder),
  ),
]);
bench(
  'settled',
  'Places orders over HTTP and carries them out with all events of the network, until nothing is pending. Compares that with orders ' +
    'accepted without a worker, and two workers with one.',
  benchSettled,
  [accounts()],
  { seconds: 30 },
);
bench(
  'gateway',
  'Reads transfers through a gateway, compared with a bare Fastify proxy of the same upstream.',
  benchGateway,
  [],
  { connections: 16 },
);
bench('client', 'Reads recorded transfers with the client, compared with fetch in the same process.', benchClient, [], {
  connections: 16,
});

program
  .command('all')
  .description(
    'Runs every bench with its default options, each in a process of its own, and prints one table. Takes about 50 minutes.',
  )
  .action(() => {
    const names = program.commands.map((command) => command.name()).filter((name) => name !== 'all');
    const figures = names.flatMap((name) => {
      const printed = execFileSync(process.execPath, [__filename, name, '--json'], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      return JSON.parse(printed.toString()) as Figure[];
    });
    process.stdout.write(`${tableOf(figures)}\n`);
  });

async function main(): Promise<void> {
  if (process.argv.length < 3)
    program.error(`error: missing command: ${program.commands.map((command) => command.name()).join(', ')}`);
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
