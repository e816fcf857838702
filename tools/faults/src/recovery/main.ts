import { randomInt } from 'node:crypto';
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Argument, Command, CommanderError, InvalidArgumentError } from 'commander';
import { SEED_MAX } from '../random.js';
import { findPrograms } from './postgres-programs.js';
import { RECOVERY_KINDS } from './recovery-kinds.js';
import { recoveryTable } from './recovery-table.js';
import { type RecoveryResult, runRecovery } from './recovery-run.js';

const MISUSED = 2;
const SKIPPED = 3;

interface Options {
  readonly orders: number;
  readonly transfers: number;
  readonly seed?: number;
  readonly bin?: string;
}

const NOTES = `Recoveries:
${RECOVERY_KINDS.map(({ name, title }) => `  ${name.padEnd(14)} ${title}`).join('\n')}

Each one starts a PostgreSQL server, two api processes and a worker of its own, places orders, loses the server, recovers the books,
and then does what docs/maintain.md and docs/postgresql.md tell an operator to do. It compares the books with the log of the clients.

Exit codes: 0 no deviation; 1 a deviation, or a run that ended early; 2 wrong usage; 3 skipped, because PostgreSQL programs are missing.`;

const program = new Command('recovery')
  .description(
    'Proves that lost books are recovered: dump and restore, recovery to a moment, promotion of a replica, failover under load.',
  )
  .addArgument(
    new Argument('<recovery>', 'what to run').choices([
      'all',
      'replica',
      'failover',
      ...RECOVERY_KINDS.map(({ name }) => name),
    ]),
  )
  .option('--orders <number>', 'acknowledged orders before the backup, and after it', wholeNumber, 300)
  .option('--transfers <number>', 'transfers in the books before the orders', wholeNumber, 0)
  .option('--seed <number>', 'seed of the load (default: random)', wholeNumber)
  .option('--bin <folder>', 'folder of the PostgreSQL programs (default: that of pg_config, or of Debian)')
  .addHelpText('after', `\n${NOTES}`)
  .exitOverride()
  .showHelpAfterError()
  .action(async (name: string, options: Options) => {
    process.exitCode = await run(name, options);
  });

async function run(name: string, { orders, transfers, seed = randomInt(SEED_MAX), bin }: Options): Promise<number> {
  const programs = findPrograms(bin);
  if (typeof programs === 'string') {
    process.stdout.write(`Skipped: ${programs}. Install the PostgreSQL server and client packages, or give --bin.\n`);
    return SKIPPED;
  }
  process.stderr.write(`seed ${seed}, PostgreSQL ${programs.version} in ${programs.folder}\n`);
  const root = await mkdtemp(join(tmpdir(), 'banking-recovery-'));
  // A server of root runs as another user, who must pass through.
  await chmod(root, 0o711);
  const onProgress = (line: string) => process.stderr.write(`${line}\n`);
  const results: RecoveryResult[] = [];
  let failure: unknown;
  for (const kind of RECOVERY_KINDS.filter(
    (one) => name === 'all' || one.name === name || one.name.startsWith(`${name}-`),
  )) {
    const folder = join(root, kind.name);
    await mkdir(folder);
    await chmod(folder, 0o711);
    try {
      results.push(await runRecovery(kind, { programs, seed, orders, transfers, folder, onProgress }));
    } catch (error) {
      onProgress(`${kind.name}: ended early: ${(error as Error).stack}`);
      failure = error;
    }
  }
  process.stdout.write(`${recoveryTable(results)}\n\nseed ${seed}, PostgreSQL ${programs.version}\n`);
  if (failure === undefined && results.every(({ violations }) => violations.length === 0)) {
    await rm(root, { recursive: true, force: true });
    return 0;
  }
  for (const { kind, violations } of results) {
    for (const violation of violations.slice(0, 10)) process.stdout.write(`${kind.name}: ${violation}\n`);
  }
  process.stdout.write(`The logs and databases are in ${root}\n`);
  return 1;
}

function wholeNumber(text: string): number {
  const value = /^[0-9]{1,10}$/.test(text) ? Number(text) : NaN;
  if (!(value <= SEED_MAX)) throw new InvalidArgumentError(`Give a whole number from 0 to ${SEED_MAX}.`);
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
