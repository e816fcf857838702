import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { phaseOf, type MigrationPhase } from './migration-phase.js';
import { mistakeInStatements, statementsOutside } from './non-transactional-migration.js';

/** The migrations or the database do not fit this program. The message states the mistake and the next step. */
export class MigrationError extends Error {
  override readonly name = 'MigrationError';
}

/** A folder of files `NNNN-title.sql`, numbered from 1. */
export interface MigrationFolder {
  readonly folder: string;
  /** The number of the last file that makes a new database. Later ones have a phase. */
  readonly baseline: number;
}

/** One file `NNNN-title.sql`. */
export interface Migration {
  readonly number: number;
  /** The file's name without its folder. */
  readonly name: string;
  readonly text: string;
  /** The statements of a file that runs outside a database transaction, which are sent one by one; undefined for every other file. */
  readonly statements: readonly string[] | undefined;
  /** Undefined up to the baseline, before which no process uses the database. */
  readonly phase: MigrationPhase | undefined;
  /** SHA-256 of the text, in hex, with lines ending in LF. */
  readonly sha256: string;
}

const FILE_NAME = /^(\d{4})-[a-z0-9]+(-[a-z0-9]+)*\.sql$/;
const INTENT = /^-- \S.*\w/;

/**
 * Reads the migrations of a folder, by number.
 *
 * @throws MigrationError for a file with another name, without a sentence of intent on its first line, without a phase after the
 *   baseline, with a number that is taken, behind a gap, or that runs outside a database transaction and may not be safe to run again.
 */
export async function readMigrations({ folder, baseline }: MigrationFolder): Promise<Migration[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.sql'));
  const read = await Promise.all(names.map((name) => readMigration(join(folder, name))));
  const migrations = read.sort((a, b) => a.number - b.number);
  migrations.forEach((migration, at) => {
    const before = migrations[at - 1];
    if (before?.number === migration.number) {
      throw new MigrationError(`Two migrations have the same number: ${before.name} and ${migration.name}.`);
    }
    if (migration.number > baseline && migration.phase === undefined) {
      throw new MigrationError(
        `${migration.name} states no phase. Add the line "-- Phase: expand" or "-- Phase: contract, since 1.2.0" to its head.`,
      );
    }
    if (migration.number !== at + 1) {
      throw new MigrationError(`Migration ${fourDigits(at + 1)} is missing: the next file is ${migration.name}.`);
    }
  });
  return migrations;
}

async function readMigration(path: string): Promise<Migration> {
  const name = basename(path);
  const number = FILE_NAME.exec(name)?.[1];
  if (number === undefined) throw new MigrationError(`${name} is not named like 0001-what-it-does.sql.`);
  const text = (await readFile(path, 'utf8')).replaceAll('\r\n', '\n');
  if (!INTENT.test(text))
    throw new MigrationError(`${name} does not begin with a sentence of intent: "-- Why this is done."`);
  const statements = statementsOutside(text);
  const mistake = statements && mistakeInStatements(statements);
  if (mistake !== undefined) throw new MigrationError(`${name} runs outside a transaction: ${mistake}`);
  const phase = phaseOf(text);
  if (typeof phase === 'string') throw new MigrationError(`${name} is not clear: ${phase}`);
  const sha256 = createHash('sha256').update(text).digest('hex');
  return { number: Number(number), name, text, statements, phase, sha256 };
}

function fourDigits(number: number): string {
  return String(number).padStart(4, '0');
}
