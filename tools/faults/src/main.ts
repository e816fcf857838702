import { randomInt } from 'node:crypto';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command, CommanderError, InvalidArgumentError } from 'commander';
import { choosePromises, failureText, PROMISES, type ServicePromise, tableOf } from './promises.js';
import { SEED_MAX } from './random.js';
import { PATIENCE, runPromises } from './run.js';

const MISUSED = 2;
/** As a shell reports SIGINT. */
const INTERRUPTED = 130;

interface Options {
  readonly seed?: number;
  readonly minutes?: number;
  readonly orders: number;
  readonly transfers: number;
}

const IDS = ['all', ...new Set(PROMISES.map(({ id }) => id))].join(', ');

const NOTES = `Promises, each with its scenario:
${PROMISES.map(({ id, title, scenario }) => `  ${id.padEnd(4)} ${title} (${scenario})`).join('\n')}

Each scenario starts a PostgreSQL server, two api processes and two workers of its own, and stops them again. It ends when the figures
of its promises are reached or its time is over. P37 to P42 start three servers. P33 loses a server, and needs the programs of PostgreSQL.

Verdicts: pass, the figure was reached without a violation; fail, a violation was found; unknown, the run shows too little.

Exit codes: 0 no violation; 1 a violation, or a run that ended early; 2 wrong usage; 130 interrupted.`;

const program = new Command('faults')
  .description('Runs the service under load and faults, and compares the log of its clients with the database.')
  .argument('<promise...>', `promises or scenarios to run: ${IDS}`, collectPromises)
  .option('--seed <number>', 'seed of load and faults (default: random)', wholeNumber)
  .option(
    '--minutes <number>',
    `time of load and faults in all (default: until the figures are reached, at most ${PATIENCE} times as long as usual)`,
    positive,
  )
  .option('--orders <number>', 'of P33: acknowledged orders before the backup, and after it', wholeNumber, 300)
  .option('--transfers <number>', 'of P33: transfers in the books before the orders', wholeNumber, 0)
  .addHelpText('after', `\n${NOTES}`)
  .exitOverride()
  .showHelpAfterError()
  .action(async (_: unknown, options: Options, { processedArgs }: Command) => {
    const exitCode = await run(processedArgs[0] as readonly ServicePromise[], options);
    // What an interrupted scenario still waits for is of no more use.
    process.exit(exitCode);
  });

async function run(promises: readonly ServicePromise[], options: Options): Promise<number> {
  const { seed = randomInt(SEED_MAX), minutes, orders, transfers } = options;
  process.stderr.write(`seed ${seed}\n`);
  const folder = await mkdtemp(join(tmpdir(), 'banking-faults-'));
  // A server of root runs as another user, who must pass through. Otherwise its files would be outside this folder.
  await chmod(folder, 0o711);
  const onProgress = (line: string) => process.stderr.write(`${line}\n`);
  const signal = interruption();
  const sizes = { orders, transfers };
  const { rows, results } = await runPromises({ promises, seed, minutes, sizes, folder, onProgress, signal });
  process.stdout.write(`${tableOf(rows)}\n\nseed ${seed}\n`);
  const failed = results.filter(({ violations, error }) => violations.length > 0 || error !== undefined);
  const hasViolation = results.some(({ violations }) => violations.length > 0);
  if (failed.length === 0 || (signal.aborted && !hasViolation)) {
    await rm(folder, { recursive: true, force: true });
    return signal.aborted ? INTERRUPTED : 0;
  }
  const words = [...process.argv.slice(2), ...(options.seed === undefined ? ['--seed', seed] : [])];
  process.stdout.write(`${failureText(failed, `npm run faults -- ${words.join(' ')}`)}\n`);
  return 1;
}

/** Aborted by Ctrl-C or SIGTERM, so that no process of the run remains. The second one ends this process at once. */
function interruption(): AbortSignal {
  const controller = new AbortController();
  const interrupt = () => {
    if (controller.signal.aborted) process.exit(INTERRUPTED);
    controller.abort();
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, interrupt);
  return controller.signal;
}

function collectPromises(word: string, before: readonly ServicePromise[] | undefined): readonly ServicePromise[] {
  const chosen = choosePromises(word);
  if (chosen === undefined) throw new InvalidArgumentError(`Unknown promise '${word}'. Choose from ${IDS}.`);
  return [...new Set([...(Array.isArray(before) ? before : []), ...chosen])];
}

function wholeNumber(text: string): number {
  const value = /^[0-9]{1,10}$/.test(text) ? Number(text) : NaN;
  if (!(value <= SEED_MAX)) throw new InvalidArgumentError(`Give a whole number from 0 to ${SEED_MAX}.`);
  return value;
}

function positive(text: string): number {
  const value = /^[0-9]{1,4}([.][0-9]{1,3})?$/.test(text) ? Number(text) : NaN;
  if (!(value > 0)) throw new InvalidArgumentError('Give a number of minutes above 0, such as 0.5 or 10.');
  return value;
}

program.parseAsync().catch((error: unknown) => {
  if (error instanceof CommanderError) {
    process.exitCode = error.exitCode === 0 ? 0 : MISUSED;
  } else {
    console.error(error);
    process.exitCode = 1;
  }
});
