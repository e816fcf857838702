import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Release } from './release.js';

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

/**
 * Who can use the schema after a migration.
 *
 * - `expand` only adds: every process that could use the schema before still can.
 * - `contract` removes something: processes of the release `since` and newer no longer use it, and older processes would fail.
 */
export type MigrationPhase = { readonly name: 'expand' } | { readonly name: 'contract'; readonly since: Release };

const PHASE = /^-- Phase: (?:(expand)|contract, since (\d+\.\d+\.\d+))$/;

/**
 * The phase in the comment at the head of a file, or undefined where it has none.
 *
 * @returns a text where the line is not written as it must be
 */
function phaseOf(text: string): MigrationPhase | string | undefined {
  const lines = text.split('\n');
  const end = lines.findIndex((line) => !line.startsWith('--'));
  const stated = lines.slice(0, end === -1 ? undefined : end).filter((line) => /^--\s*phase\b/i.test(line));
  const [line] = stated;
  if (line === undefined) return undefined;
  const match = PHASE.exec(line);
  if (stated.length > 1 || match === null) {
    return 'its phase must be one line: "-- Phase: expand" or "-- Phase: contract, since 1.2.0".';
  }
  const [, isExpand, since = ''] = match;
  return isExpand === undefined ? { name: 'contract', since } : { name: 'expand' };
}

/**
 * Migrations that run outside a database transaction, as `create index concurrently` must. A crash leaves such a file half applied, so
 * it holds only statements that are safe to run again.
 */

const MARKER = /^-- outside a transaction: \S/i;

const NAME = '[a-z_][a-z0-9_]*';
const DROP_INDEX = new RegExp(`^drop index concurrently if exists (${NAME})$`, 'i');
const CREATE_INDEX = new RegExp(`^create (?:unique )?index concurrently (${NAME}) on `, 'i');
const REPEATABLE = [
  DROP_INDEX,
  new RegExp(`^alter table ${NAME} validate constraint ${NAME}$`, 'i'),
  new RegExp(`^(?:analyze|vacuum|vacuum \\(analyze\\)) ${NAME}$`, 'i'),
];

/** Comments and strings inside a statement are refused, so that a semicolon at the end of a line always ends one. */
const UNCLEAR = /;|--|\/\*|\$/;

/** The statements of a file that is marked, or undefined for a file that runs in a database transaction. */
function statementsOutside(text: string): readonly string[] | undefined {
  if (!MARKER.test(text)) return undefined;
  return text
    .split('\n')
    .filter((line) => !line.startsWith('--'))
    .join('\n')
    .split(/;[ \t]*(?:\n|$)/)
    .map((statement) => statement.replace(/\s+/g, ' ').trim())
    .filter((statement) => statement !== '');
}

/** The reason why a statement may not be safe to run again; undefined when all are. */
function mistakeInStatements(statements: readonly string[]): string | undefined {
  const dropped = new Set<string>();
  for (const statement of statements) {
    const start = statement.slice(0, 60);
    if (UNCLEAR.test(statement)) {
      return `"${start}" is not one plain statement. End each with ";" at the end of a line, and put comments on lines of their own.`;
    }
    const created = CREATE_INDEX.exec(statement)?.[1]?.toLowerCase();
    if (created !== undefined && !dropped.has(created)) {
      return `an interrupted build leaves ${created} invalid. Put "drop index concurrently if exists ${created};" before it.`;
    }
    if (created === undefined && !REPEATABLE.some((form) => form.test(statement))) {
      return (
        `"${start}" may not be safe to run again. Outside a transaction only these are allowed: create and drop index concurrently, ` +
        'alter table … validate constraint, analyze and vacuum. Put the rest into another file.'
      );
    }
    const name = DROP_INDEX.exec(statement)?.[1]?.toLowerCase();
    if (name !== undefined) dropped.add(name);
  }
  return undefined;
}
