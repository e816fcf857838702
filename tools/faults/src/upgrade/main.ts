import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Command, CommanderError, InvalidArgumentError } from 'commander';
import { WorkspaceCopy } from '../controls/workspace-copy.js';
import { measureLocks, type MigrationLocks } from './measure-locks.js';
import { addMigrations, migrationsOf } from './migration-folders.js';
import { lastRelease, makeTree, treeAt } from './release-tree.js';
import { runSideBySide, type Step } from './side-by-side.js';
import { upgradeFolder } from './upgraded-folder.js';

const MISUSED = 2;
const LIMIT_MS = 2_000;
const ROOT = resolve(__dirname, '../../../..');

const onProgress = (line: string) => process.stderr.write(`${line}\n`);

const program = new Command('upgrade')
  .description('Tries upgrades: the locks of migrations, and two releases on one database.')
  .exitOverride()
  .showHelpAfterError()
  .allowExcessArguments(false);

program
  .command('locks')
  .summary('how long requests wait for a migration')
  .description(
    'Applies each migration after the baseline to large tables, and measures meanwhile how long a request waits for a lock. ' +
      'Fails if one waits two seconds.',
  )
  .option('--transfers <number>', 'transfers in the books', wholeNumber, 1_000_000)
  .option('--with <files...>', 'further migrations, applied last', [])
  .action(async ({ transfers, with: more }: { transfers: number; with: string[] }) => {
    const isFine = await inFolder(async (folder) => {
      const measured = await measureLocks({ folder, root: ROOT, transfers, more, limitMs: LIMIT_MS, onProgress });
      process.stdout.write(`${lockTable(measured, transfers)}\n`);
      return measured.every(({ longest }) => !longest.isGivenUp);
    });
    process.exitCode = isFine ? 0 : 1;
  });

interface SideBySide {
  readonly from?: string;
  readonly with: readonly string[];
  readonly install: boolean;
  readonly suites: boolean;
}

program
  .command('side-by-side')
  .summary('the previous release and this one on one database')
  .description(
    'Builds the previous release, migrates its database by this one while it serves, and lets both serve and work together. ' +
      'Then upgrades a data folder of the previous release.',
  )
  .option('--from <release>', 'a revision of git or a release archive (default: the last tag service-v*)')
  .option('--with <files...>', 'further migrations of this release', [])
  .option('--install', 'install the packages of the previous release also if this workspace has the same ones', false)
  .option('--no-suites', 'leave out the contract suites')
  .action(async (options: SideBySide) => {
    process.exitCode = await inFolder((folder) => sideBySide(folder, options)).then((isFine) => (isFine ? 0 : 1));
  });

async function sideBySide(folder: string, options: SideBySide): Promise<boolean> {
  const part = async (name: string) => {
    const path = join(folder, name);
    await mkdir(path);
    await chmod(path, 0o711);
    return path;
  };
  const from = options.from ?? (await lastRelease(ROOT));
  const { install: isInstalling, suites: hasSuites } = options;
  const previous = await makeTree(from, { root: ROOT, folder: await part('previous'), isInstalling, onProgress });
  const copy = options.with.length > 0 ? WorkspaceCopy.create() : undefined;
  try {
    const next = treeAt(copy?.folder ?? ROOT, 'this workspace');
    if (copy !== undefined) {
      const last = migrationsOf(ROOT).at(-1)?.number ?? 0;
      await addMigrations(copy.path('libs/operations/migrations'), last, options.with);
    }
    const steps = await runSideBySide({ previous, next, folder: await part('site'), hasSuites, onProgress });
    const folderStep = await upgradeFolder({ previous, next, folder: await part('folder') });
    const all = [...steps, folderStep];
    process.stdout.write(
      `From ${previous.source}, release ${previous.release}, to release ${next.release}\n\n${stepTable(all)}\n`,
    );
    return all.every(({ isFailed }) => !isFailed);
  } finally {
    copy?.remove();
  }
}

/** Runs work in a folder that is removed, unless the work fails. */
async function inFolder(work: (folder: string) => Promise<boolean>): Promise<boolean> {
  const folder = await mkdtemp(join(tmpdir(), 'banking-upgrade-'));
  // A server of root runs as another user, who must pass through.
  await chmod(folder, 0o711);
  const isFine = await work(folder).catch((error: unknown) => {
    onProgress(`The files of the run are in ${folder}`);
    throw error;
  });
  if (isFine) await rm(folder, { recursive: true, force: true });
  else onProgress(`The files of the run are in ${folder}`);
  return isFine;
}

function lockTable(measured: readonly MigrationLocks[], transfers: number): string {
  if (measured.length === 0) return 'There is no migration after the baseline. Name one by --with.';
  const rows = measured.map(({ name, tookMs, longest }) => {
    const wait = `${longest.isGivenUp ? 'more than ' : ''}${Math.round(longest.ms)} ms on ${longest.table}`;
    return `| ${name} | ${Math.round(tookMs)} ms | ${wait} |`;
  });
  return [
    `With ${transfers} transfers:`,
    '',
    '| Migration | Took | Longest wait |',
    '| --- | --- | --- |',
    ...rows,
  ].join('\n');
}

const stepTable = (steps: readonly Step[]) =>
  [
    ...['| Step | Took | Result |', '| --- | --- | --- |'],
    ...steps.map(({ name, tookMs, result, isFailed }) => {
      const text = result.replace(/\s+/g, ' ').replaceAll('|', '\\|');
      return `| ${name} | ${(tookMs / 1_000).toFixed(1)} s | ${isFailed ? 'FAILED: ' : ''}${text} |`;
    }),
  ].join('\n');

function wholeNumber(text: string): number {
  const value = /^[0-9]{1,8}$/.test(text) ? Number(text) : NaN;
  if (!(value >= 10_000)) throw new InvalidArgumentError('Give a whole number from 10000 to 99999999.');
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
