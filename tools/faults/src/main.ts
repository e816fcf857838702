import { randomInt } from 'node:crypto';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command, CommanderError, InvalidArgumentError } from 'commander';
import { choosePromises, listIds, PROMISES, type ServicePromise } from './promises.js';
import { SEED_MAX } from './random.js';
import { failureText, tableOf } from './report.js';
import { runPromises } from './run-promises.js';

const MISUSED = 2;
/** As a shell reports SIGINT. */
const INTERRUPTED = 130;

interface Options {
  readonly seed?: number;
  readonly minutes?: number;
}

const NOTES = `Promises:
${PROMISES.map(({ id, title, scenario }) => `  ${id.padEnd(4)} ${title} (${scenario})`).join('\n')}

Each scenario starts a PostgreSQL server, two api processes and two workers of its own, and stops them again. It ends when the figures
of its promises are reached or its time is over.

Verdicts: pass, the figure was reached without a violation; fail, a violation was found; unknown, the run shows too little.

Exit codes: 0 no violation; 1 a violation, or a run that ended early; 2 wrong usage; 130 interrupted.`;

const program = new Command('faults')
  .description('Runs the service under load and faults, and compares the log of its clients with the database.')
  .argument('<promise...>', `promises to run: ${listIds()}`, collectPromises)
  .option('--seed <number>', 'seed of load and faults (default: random)', wholeUpTo(SEED_MAX))
  .option('--minutes <number>', 'total time of all scenarios (default: until the figures are reached)', positive)
  .addHelpText('after', `\n${NOTES}`)
  .exitOverride()
  .showHelpAfterError()
  .action(async (_: unknown, { seed = randomInt(SEED_MAX), minutes }: Options, { processedArgs }: Command) => {
    const exitCode = await run(processedArgs[0] as readonly ServicePromise[], seed, minutes);
    // What an interrupted scenario still waits for is of no more use.
    process.exit(exitCode);
  });

async function run(promises: readonly ServicePromise[], seed: number, minutes: number | undefined): Promise<number> {
  const ids = [...new Set(promises.map(({ id }) => id))].join(' ');
  const command = `npm run faults -- ${ids} --seed ${seed}${minutes === undefined ? '' : ` --minutes ${minutes}`}`;
  process.stderr.write(`seed ${seed}\n`);
  const folder = await mkdtemp(join(tmpdir(), 'banking-faults-'));
  // A server of root runs as another user, who must pass through. Otherwise its files would be outside this folder.
  await chmod(folder, 0o711);
  const onProgress = (line: string) => process.stderr.write(`${line}\n`);
  const signal = interruption();
  const { rows, results } = await runPromises({ promises, seed, minutes, folder, onProgress, signal });
  process.stdout.write(`${tableOf(rows)}\n\nseed ${seed}\n`);
  const failed = results.filter(({ violations, error }) => violations.length > 0 || error !== undefined);
  const hasViolation = results.some(({ violations }) => violations.length > 0);
  if (failed.length === 0 || (signal.aborted && !hasViolation)) {
    await rm(folder, { recursive: true, force: true });
    return signal.aborted ? INTERRUPTED : 0;
  }
  process.stdout.write(`${failureText(failed, command)}\n`);
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

function collectPromises(id: string, before: readonly ServicePromise[] | undefined): readonly ServicePromise[] {
  try {
    const chosen = choosePromises([id]);
    return [...new Set([...(Array.isArray(before) ? before : []), ...chosen])];
  } catch (error) {
    throw new InvalidArgumentError((error as Error).message);
  }
}

function wholeUpTo(most: number): (text: string) => number {
  return (text) => {
    const value = /^[0-9]{1,10}$/.test(text) ? Number(text) : NaN;
    if (!(value <= most)) throw new InvalidArgumentError(`Give a whole number from 0 to ${most}.`);
    return value;
  };
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
