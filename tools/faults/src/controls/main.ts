import { Command, CommanderError, InvalidArgumentError } from 'commander';
import { CONTROLS } from './all-controls.js';
import { argumentsOf, type Catcher, type Control, isRun } from './control.js';
import { runControls, type TriedControl } from './run-controls.js';

const MISUSED = 2;
/** As a shell reports SIGINT. */
const INTERRUPTED = 130;

const NOTES = `Each control is a fault. It is planted in a copy of the sources, where the tests that must catch it are run. These tests
run once without a fault before, and must pass.

Verdicts: caught, an expected test failed; missed, it passed; outdated, the sources no longer have the text that the fault replaces;
broken, the fault did not compile, a suite did not run, or it fails without the fault, too.

Exit codes: 0 every control is caught; 1 a control is not caught; 2 wrong usage; 130 interrupted.`;

const program = new Command('controls')
  .description('Plants faults in a copy of the sources, and checks that the tests catch each of them.')
  .argument('[name...]', 'controls to try (default: all)', collectControls)
  .option('--list', 'list the controls with what must catch them, and try none')
  .addHelpText('after', `\n${NOTES}`)
  .exitOverride()
  .showHelpAfterError()
  .action(async (_: unknown, { list }: { readonly list?: true }, { processedArgs }: Command) => {
    const chosen = (processedArgs[0] as readonly Control[] | undefined) ?? [];
    const controls = chosen.length === 0 ? CONTROLS : chosen;
    process.exitCode = list === true ? printList(controls) : await run(controls);
  });

function printList(controls: readonly Control[]): number {
  for (const { name, promise, plants, caughtBy } of controls) {
    process.stdout.write(`${name} (${promise}): ${plants}\n`);
    for (const catcher of caughtBy) process.stdout.write(`  ${describeCatcher(catcher)}\n`);
  }
  return 0;
}

const describeCatcher = (catcher: Catcher) =>
  isRun(catcher) ? `npm run faults -- ${argumentsOf(catcher).join(' ')}` : `${catcher.spec}: ${catcher.test}`;

async function run(controls: readonly Control[]): Promise<number> {
  const signal = interruption();
  try {
    const tried = await runControls(controls, signal, (line) => process.stderr.write(`${line}\n`));
    process.stdout.write(`${tableOf(tried)}\n`);
    const caught = tried.filter(({ verdict }) => verdict === 'caught').length;
    process.stdout.write(`\n${caught} of ${tried.length} caught\n`);
    return caught === tried.length ? 0 : 1;
  } catch (error) {
    if (signal.aborted) return INTERRUPTED;
    throw error;
  }
}

function tableOf(tried: readonly TriedControl[]): string {
  const head = ['Control', 'Promise', 'Verdict', 'Seconds', 'By'];
  const rows = tried.map(({ control, verdict, seconds, by }) => [
    ...[control.name, control.promise, verdict, String(seconds), by],
  ]);
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  return [line(head), line(widths.map((width) => '-'.repeat(Math.min(width, 60)))), ...rows.map(line)].join('\n');
}

/** Aborted by Ctrl-C or SIGTERM, so that no process and no copy remains. */
function interruption(): AbortSignal {
  const controller = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => controller.abort());
  return controller.signal;
}

function collectControls(name: string, before: readonly Control[] | undefined): readonly Control[] {
  const control = CONTROLS.find((each) => each.name === name);
  if (control === undefined) throw new InvalidArgumentError('--list prints the names of all controls.');
  return [...new Set([...(Array.isArray(before) ? before : []), control])];
}

program.parseAsync().catch((error: unknown) => {
  if (error instanceof CommanderError) {
    process.exitCode = error.exitCode === 0 ? 0 : MISUSED;
  } else {
    console.error(error);
    process.exitCode = 1;
  }
});
