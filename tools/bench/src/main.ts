import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
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

program
  .command('reads')
  .summary('reading transfers and reference data')
  .description('Reads through the service, against a bare Fastify that does the same without access checks and logs.')
  .addOption(new Option('--rounds <count>', 'how often each pair is measured').argParser(wholeFrom(1)).default(5))
  .addOption(
    new Option('--seconds <count>', 'how long each side is asked in a round').argParser(wholeFrom(1)).default(5),
  )
  .addOption(new Option('--connections <count>', 'connections that ask at once').argParser(wholeFrom(1)).default(32))
  .addOption(new Option('--transfers <count>', 'transfers in the books').argParser(wholeFrom(1)).default(10_000))
  .addOption(
    new Option('--grown-to <count>', 'transfers in the books it is compared with')
      .argParser(wholeFrom(1))
      .default(1_000_000),
  ) // prettier-ignore
  .option('--json', 'print every measurement as JSON')
  .action(async ({ json, ...options }) => {
    const result = await benchReads({ ...options, onProgress: (line) => process.stderr.write(`${line}\n`) });
    process.stdout.write(`${json ? JSON.stringify(result, null, 2) : report(result)}\n`);
  });

async function main(): Promise<void> {
  if (process.argv.length < 3) program.error('error: say what to measure, such as reads');
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
