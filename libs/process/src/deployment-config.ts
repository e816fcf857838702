import { resolve, join } from 'node:path';
import { readDatabaseUrl, STANDBY } from './database-url.js';
import { type EnvironmentReader, ConfigError, readerOf } from './environment-reader.js';
import { readDocument, readSecretFile, SecretFileError } from './secret-file.js';

/** The settings that api, worker and cli must agree on: where the database is and what it holds. */
export interface DeploymentConfig {
  readonly dataDir: string;
  /** With an explicit `sslmode`. Without a URL the embedded server of `dataDir` is used. */
  readonly databaseUrl?: string | undefined;
  /** The login that may migrate and change the directory, where it is not the one of `databaseUrl`. */
  readonly ownerUrl?: string | undefined;
  /** The further databases of the deployment. Without them, this database is the only one. */
  readonly cells?: readonly CellConfig[] | undefined;
  /** Reads them from CELLS_FILE again. @throws ConfigError */
  readonly rereadCells?: (() => readonly CellConfig[]) | undefined;
  /** A streaming replica for lists and statements, with an explicit `sslmode`. */
  readonly replicaUrl?: string | undefined;
  readonly poolSize: number;
  /** Whether the URL leads to a pooler in transaction mode, which keeps no settings of a session. The URL of the owner does not. */
  readonly isPooled: boolean;
  /** Off by default through such a pooler: PgBouncer keeps named statements since 1.21. */
  readonly nameStatements: boolean;
  /** Whether missing demo data is created. */
  readonly demo: boolean;
  /** Whether the database holds demo money. */
  readonly isSandbox: boolean;
  /** The document of REFERENCE_FILE: the reference data of the deployment, in YAML. */
  readonly reference?: string | undefined;
  /** The path of the file that lists the payment networks. */
  readonly railsFile?: string | undefined;
  /** For how many days events are listed before the worker deletes them. */
  readonly eventsKeptDays: number;
  /** How long personal data are kept, in days: after a payment, recipients after their last use, payers of deposits after these ended. */
  readonly personalData: {
    readonly paymentsKeptDays: number;
    readonly recipientsKeptDays: number;
    readonly payersKeptDays: number;
  };
}

/** @param isGateway whether there is no database; then only `dataDir` and `isSandbox` have a use */
export function readDeployment(reader: EnvironmentReader, { isGateway = false } = {}): DeploymentConfig {
  const { text, given, flag, oneOf, whole, mistakes } = reader;
  const isTlsRequired = flag('DATABASE_TLS', true);
  const databaseUrl = readDatabaseUrl(reader, 'DATABASE_URL', isTlsRequired);
  const ownerUrl = readDatabaseUrl(reader, 'DATABASE_OWNER_URL', isTlsRequired);
  const replicaUrl = readDatabaseUrl(reader, 'DATABASE_REPLICA_URL', isTlsRequired, STANDBY);
  for (const [name, url] of Object.entries({ DATABASE_OWNER_URL: ownerUrl, DATABASE_REPLICA_URL: replicaUrl })) {
    if (url === undefined || given('DATABASE_URL') !== undefined) continue;
    mistakes.push(`${name} is set without DATABASE_URL. Set both, or neither for the embedded database.`);
  }
  const isPooled = oneOf('DATABASE_POOLER', ['none', 'transaction'], 'none') === 'transaction';
  if (isPooled && given('DATABASE_URL') === undefined) {
    mistakes.push(
      'DATABASE_POOLER is set without DATABASE_URL. Set DATABASE_URL to the address of the pooler, or remove DATABASE_POOLER.',
    );
  }
  const isEmbedded = given('DATABASE_URL') === undefined && !isGateway;
  // A gateway has no database. It offers the operations of a sandbox unless it is set up like a live deployment.
  const isLive = isGateway && ['OIDC_ISSUER', 'OIDC_ISSUERS_FILE'].some((name) => text(name) !== undefined);
  const isSandbox = flag('SANDBOX', !isLive);
  if (text('SANDBOX') === undefined && !isEmbedded && !isGateway) {
    mistakes.push(
      'SANDBOX is not set. With DATABASE_URL, set SANDBOX=on for a database of demo money or SANDBOX=off for real money.',
    );
  }
  const demo = flag('DEMO_DATA', isEmbedded && isSandbox);
  if (demo && !isSandbox && !isGateway) {
    mistakes.push(
      'DEMO_DATA is on and SANDBOX is off. Demo data exists in a sandbox only. Remove DEMO_DATA, or set SANDBOX=on.',
    );
  }
  const reference = readReference(reader);
  if (demo && isSandbox && reference !== undefined && text('DEMO_DATA') !== undefined && !isGateway) {
    mistakes.push(
      'DEMO_DATA is on and REFERENCE_FILE is set. The demo data pays through corridors of the demo. Remove one of them.',
    );
  }
  const dataDir = resolve(text('DATA_DIR') ?? '.data');
  const cells = isGateway ? undefined : readCells(reader, { dataDir, isTlsRequired });
  if (cells !== undefined && replicaUrl !== undefined) {
    mistakes.push('DATABASE_REPLICA_URL is set with several databases, which have no replicas yet. Remove it.');
  }
  // A sandbox has no real persons.
  const keptDays = (name: string) => whole(name, isSandbox ? 0 : 365, 36_500) ?? 3_650;
  return {
    dataDir,
    databaseUrl,
    ownerUrl,
    ...cells,
    replicaUrl,
    poolSize: whole('DATABASE_POOL_SIZE', 2, 100) ?? 8,
    isPooled,
    nameStatements: flag('DATABASE_NAMED_STATEMENTS', !isPooled),
    demo: demo && reference === undefined,
    isSandbox,
    reference,
    railsFile: text('RAILS_FILE'),
    eventsKeptDays: whole('EVENTS_KEPT_DAYS', 1, 3_650) ?? 30,
    personalData: {
      paymentsKeptDays: keptDays('PAYMENTS_KEPT_DAYS'),
      recipientsKeptDays: keptDays('RECIPIENTS_KEPT_DAYS'),
      payersKeptDays: keptDays('PAYERS_KEPT_DAYS'),
    },
  };
}

/** Who may write the file decides about prices and limits. */
function readReference({ text, mistakes }: EnvironmentReader): string | undefined {
  const path = text('REFERENCE_FILE');
  if (path === undefined) return undefined;
  try {
    return readDocument(path);
  } catch (error) {
    if (!(error instanceof SecretFileError)) throw error;
    mistakes.push(`REFERENCE_FILE ${error.message}. Correct the path, or the file.`);
    return undefined;
  }
}

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
function readCells(
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
/** The paths of files with the passwords of `url` and `ownerUrl`. Another server reads the other two, and no file of this machine. */
const PASSWORD_FILES = ['passwordFile', 'ownerPasswordFile'] as const;

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
    const content: unknown = JSON.parse(readDocument(file));
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
  const known: string[] = [...MEMBERS.flatMap((member) => [member, `${member}File`]), ...PASSWORD_FILES];
  if (!isObject(members) || Object.keys(members).some((name) => !known.includes(name))) {
    mistakes.push(`CELLS_FILE has a cell "${cell}" with other members than ${known.join(', ')}. Remove them.`);
    return undefined;
  }
  const texts: Record<string, string> = {};
  for (const member of [...MEMBERS, ...PASSWORD_FILES]) {
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
  member: Member | (typeof PASSWORD_FILES)[number],
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
