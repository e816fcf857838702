import { join } from 'node:path';
import { readDatabaseUrl } from './database-url.js';
import { ConfigError, type EnvironmentReader, readerOf } from './environment-reader.js';
import { readSecretDocument, readSecretFile, SecretFileError } from './secret-file.js';

/** The name of the database of DATABASE_URL or DATA_DIR where there are several. */
export const HOME_CELL = 'home';

/** A further database, which holds workspaces of its own. */
export interface CellConfig {
  readonly name: string;
  /** Without a URL it is an embedded server in `dataDir`. */
  readonly databaseUrl?: string | undefined;
  /** The login that may migrate and be the owner of a subscription, where it is not the one of `databaseUrl`. */
  readonly ownerUrl?: string | undefined;
  /** How the server of this cell reaches home, where it is not the URL of home itself. */
  readonly homeUrl?: string | undefined;
  /** How the servers of other cells reach this cell when a workspace moves from it, where it is not the URL of the owner. */
  readonly sourceUrl?: string | undefined;
  readonly dataDir: string;
}

const NAME = /^[a-z][a-z0-9-]{0,30}$/;
/** Each server takes memory of its own. */
const EMBEDDED_MAX = 8;

/** The cells besides home. */
interface ReadCells {
  readonly cells: readonly CellConfig[];
  /** Reads CELLS_FILE again, where it is set. @throws ConfigError */
  readonly rereadCells?: (() => readonly CellConfig[]) | undefined;
}

/** Undefined where neither CELLS nor CELLS_FILE is set. */
export function readCells(
  reader: EnvironmentReader,
  settings: { readonly dataDir: string; readonly isTlsRequired: boolean },
): ReadCells | undefined {
  const { text, mistakes } = reader;
  const file = text('CELLS_FILE');
  const isEmbedded = text('DATABASE_URL') === undefined;
  const count = reader.whole('CELLS', 1, EMBEDDED_MAX);
  if (file === undefined && text('CELLS') === undefined) return undefined;
  if (file !== undefined && isEmbedded) {
    mistakes.push(
      text('CELLS') === undefined
        ? 'CELLS_FILE is set without DATABASE_URL, which is home. Set both, or CELLS for embedded databases.'
        : 'CELLS_FILE is set besides CELLS, which is for embedded databases. Remove CELLS_FILE, or replace CELLS by DATABASE_URL.',
    );
    return { cells: [] };
  }
  if (text('CELLS') !== undefined && !isEmbedded) {
    mistakes.push('CELLS is for embedded databases. With DATABASE_URL, list the other cells in CELLS_FILE.');
  }
  if (file === undefined) {
    return {
      cells: embeddedNames(count ?? 1).map((name) => ({ name, dataDir: join(settings.dataDir, 'cells', name) })),
    };
  }
  const read = (found: string[]) => readCellsFile(file, found, settings);
  return {
    cells: read(mistakes),
    rereadCells() {
      const found: string[] = [];
      const cells = read(found);
      if (found.length > 0) throw new ConfigError(found);
      return cells;
    },
  };
}

/** Home is the first of the databases. */
const embeddedNames = (count: number) => Array.from({ length: count - 1 }, (_, at) => String.fromCharCode(98 + at));

/** The members of a cell in the file. Each can also be the path of a file, by a name that ends in `File`. */
const MEMBERS = ['url', 'ownerUrl', 'homeUrl', 'sourceUrl'] as const;
type Member = (typeof MEMBERS)[number];

function readCellsFile(
  file: string,
  mistakes: string[],
  { dataDir, isTlsRequired }: { readonly dataDir: string; readonly isTlsRequired: boolean },
): readonly CellConfig[] {
  const content = parse(file, mistakes);
  return Object.entries(content).flatMap(([name, members]) => {
    if (!NAME.test(name) || name === HOME_CELL) {
      mistakes.push(
        `CELLS_FILE has a cell "${name}". Write a name of small letters, digits and hyphens, other than ${HOME_CELL}.`,
      );
      return [];
    }
    const urls = readMembers(name, members, isTlsRequired, mistakes);
    if (urls?.url === undefined) return [];
    const { url, ownerUrl, homeUrl, sourceUrl } = urls;
    return [{ name, databaseUrl: url, ownerUrl, homeUrl, sourceUrl, dataDir: join(dataDir, 'cells', name) }];
  });
}

/** The file decides which server gets the money, and may hold passwords, so it is checked like the file of a secret. */
function parse(file: string, mistakes: string[]): Readonly<Record<string, unknown>> {
  try {
    const content: unknown = JSON.parse(readSecretDocument(file));
    if (isObject(content) && Object.keys(content).length > 0) return content;
  } catch (error) {
    if (error instanceof SecretFileError) {
      mistakes.push(`CELLS_FILE ${error.message}. Correct the path, or the file.`);
      return {};
    }
  }
  mistakes.push('CELLS_FILE is not a JSON object with a member for each cell, such as {"b": {"url": "postgres://…"}}.');
  return {};
}

function readMembers(
  cell: string,
  members: unknown,
  isTlsRequired: boolean,
  mistakes: string[],
): Partial<Record<Member, string>> | undefined {
  const known: string[] = MEMBERS.flatMap((member) => [member, `${member}File`]);
  if (!isObject(members) || Object.keys(members).some((name) => !known.includes(name))) {
    mistakes.push(`CELLS_FILE has a cell "${cell}" with other members than ${known.join(', ')}. Remove them.`);
    return undefined;
  }
  const texts: Record<string, string> = {};
  for (const member of MEMBERS) {
    const named = `CELLS_FILE (${cell}, ${member})`;
    const value = valueOf(member, members, named, mistakes);
    if (value !== undefined) texts[named] = value;
  }
  const reader = readerOf(texts);
  const urls = Object.fromEntries(
    MEMBERS.map((member) => [member, readDatabaseUrl(reader, `CELLS_FILE (${cell}, ${member})`, isTlsRequired)]),
  ) as Partial<Record<Member, string>>;
  mistakes.push(...reader.mistakes);
  if (members['url'] === undefined && members['urlFile'] === undefined)
    mistakes.push(`CELLS_FILE has no url of the cell "${cell}". Set it.`);
  return urls;
}

/** The value itself or the content of the file; never part of a message, because it may hold a password. */
function valueOf(
  member: Member,
  members: Readonly<Record<string, unknown>>,
  named: string,
  mistakes: string[],
): string | undefined {
  const [value, path] = [members[member], members[`${member}File`]];
  if (value !== undefined && path !== undefined) {
    mistakes.push(`${named} is set twice, as a value and as a file. Keep one.`);
    return undefined;
  }
  const given = path ?? value;
  if (given !== undefined && typeof given !== 'string') {
    mistakes.push(`${named} is not a text. Write a text.`);
    return undefined;
  }
  if (path === undefined) return given;
  try {
    return readSecretFile(String(path)).trim();
  } catch (error) {
    if (!(error instanceof SecretFileError)) throw error;
    mistakes.push(`The file that ${named} names ${error.message}. Correct the path, or the file.`);
    return undefined;
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
