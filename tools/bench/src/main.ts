import { Command, CommanderError, Option } from 'commander';
import { BENCHES, benchAll } from './all.js';
import { chartOf } from './chart.js';
import { onProgress, wholeFrom } from './command-options.js';
import { addComparisons } from './comparison-commands.js';
import { addCosts } from './cost-commands.js';
import { publish } from './publish.js';
import { readSummary } from './summary.js';
import { tableOf } from './table.js';

const MISUSED = 2;

const program = new Command('bench')
  .description(
    'Compares the service with a control, measured on the same machine in the same run. See docs/performance.md for the figures.',
  )
  .exitOverride()
  .showHelpAfterError()
  .allowExcessArguments(false);

addComparisons(program);
addCosts(program);

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
