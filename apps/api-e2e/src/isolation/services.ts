import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { attachEmbeddedServer, type EmbeddedServer } from '@banking/embedded-postgres';
import { type BoundStatement, Database, OWNER_ROLE, SCHEMA } from '@banking/postgres';
import { sql, until } from '@banking/postgres/testing';
import { FILTER_SETTINGS } from '../config.js';
import { demoDataDir, RunningService, type TestDataDir } from '../running-service.js';
import { localToken, type Service } from '../service.js';

/** Ids of the spec have 14 digits, and those of two kinds differ. A response that contains one discloses a resource. */
const FIRST_ID = 10_000_000_000_000;
const IDS_OF_A_KIND = 1_000_000_000_000;

/** The role has no schema of its own. */
const IN_SCHEMA = sql(`select set_config('search_path', '${SCHEMA}', true)`);

/** The rows of the services, as the owner of the tables, in one database or in several. */
export interface Rows {
  /** Sends a statement in the scope of workspaces, to the database that has them. @returns its rows */
  send<Row>(workspaces: readonly number[], statement: BoundStatement<Row>): Promise<Row[]>;
  /** The same, to the database of the directory. */
  sendAtHome<Row>(workspaces: readonly number[], statement: BoundStatement<Row>): Promise<Row[]>;
  /** @returns the id of a new workspace */
  addWorkspace(appId: number, name: string): Promise<number>;
  /** Resolves when every database has the directory as it is. */
  untilCopied(): Promise<void>;
  /** All rows of a workspace, each after the name of its table. */
  rowsOf(workspaceId: number): Promise<readonly string[]>;
}

const ADD_WORKSPACE = `insert into workspace (app_id, name) values ($1, $2) returning id`;

/** The database of the services. */
export class StoredRows implements Rows {
  private constructor(
    private readonly owner: Database,
    /** The tables with a workspace. */
    private readonly tables: readonly string[],
    /** Those with row-level security. */
    private readonly secured: readonly string[],
  ) {}

  static async open({ connection }: Pick<EmbeddedServer, 'connection'>): Promise<StoredRows> {
    const owner = await Database.open({
      connection,
      role: OWNER_ROLE,
      statementTimeoutMs: 60_000,
      applicationName: 'spec',
    });
    const [tables] = await owner.pipeline({}, [
      sql<{ name: string; is_secured: boolean }>(
        `select c.relname as name, c.relrowsecurity as is_secured
         from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'workspace_id' and not attisdropped
         where c.relnamespace = '${SCHEMA}'::regnamespace and c.relkind in ('r', 'p') order by 1`,
      ),
    ] as const);
    const secured = tables.filter(({ is_secured }) => is_secured);
    return new StoredRows(
      owner,
      tables.map(({ name }) => name),
      secured.map(({ name }) => name),
    );
  }

  async send<Row>(workspaces: readonly number[], statement: BoundStatement<Row>): Promise<Row[]> {
    const [, rows] = await this.owner.pipeline({ workspaces }, [IN_SCHEMA, statement] as const);
    return rows;
  }

  sendAtHome<Row>(workspaces: readonly number[], statement: BoundStatement<Row>): Promise<Row[]> {
    return this.send(workspaces, statement);
  }

  async addWorkspace(appId: number, name: string): Promise<number> {
    const [row] = await this.send([], sql<{ id: bigint }>(ADD_WORKSPACE, appId, name));
    return Number(row!.id);
  }

  untilCopied(): Promise<void> {
    return Promise.resolve();
  }

  /**
   * Lets every sequence of ids begin at a number of its own. Call it before a process reserves ids.
   *
   * @param remainder that of the ids of a cell by 64
   */
  async spreadIds(remainder = 0): Promise<void> {
    const text = `select setval(format('%I.%I', schemaname, sequencename)::regclass,
                                ($1 + $2 * row_number() over (order by sequencename)) / 64 * 64 + $3)
       from pg_sequences where schemaname = '${SCHEMA}' and max_value = 9007199254740991`;
    await this.send([], sql(text, FIRST_ID, IDS_OF_A_KIND, remainder));
  }

  async setRowLevelSecurity(isOn: boolean): Promise<void> {
    const change = isOn ? 'enable' : 'disable';
    for (const table of this.secured) {
      await this.send([], sql(`alter table ${table} ${change} row level security`));
    }
  }

  async rowsOf(workspaceId: number): Promise<readonly string[]> {
    const each = this.tables
      .filter(isOfCallers)
      .map((table) => `select '${table} ' || to_jsonb(t)::text as line from ${table} t where t.workspace_id = $1`);
    const text = `select line from (${each.join(' union all ')}) all_rows order by line`;
    const rows = await this.send([workspaceId], sql<{ line: string }>(text, workspaceId));
    return rows.map(({ line }) => line);
  }

  end(): Promise<void> {
    return this.owner.end();
  }
}

/** Refused requests of other callers are entries of the audit trail, with their users, and are written a minute later. */
const isOfCallers = (table: string): boolean => !/\baudit_/.test(table);

/**
 * The texts that only the rows of one workspace contain: its ids, hashes and account codes. The fingerprint of a request is
 * that of each request with the same content, in any workspace, and so is the digest of a conversion.
 *
 * @param marks the texts that its users chose
 */
export function canariesOf(rows: readonly string[], marks: readonly string[]): string[] {
  const all = rows.join('\n').replace(/"(?:fingerprint|conversion_digest)": "[^"]*"/g, '');
  const found = [/(?<![\w.])\d{14}(?![\w.])/g, /(?<=\\\\x)[0-9a-f]{64}(?=")/g, /BA\d{16}/g].flatMap(
    (pattern) => all.match(pattern) ?? [],
  );
  return [...new Set([...marks, ...found.filter((text) => text.length !== 14 || Number(text) > FIRST_ID)])];
}

const PLACE = `insert into workspace_place (workspace_id, cell_number) values ($1, $2)`;
/** The rows of the directory that requests change, as home has them and each copy has them a moment later. */
const COPIED = `select md5(string_agg(line, ' ' order by line)) as digest
  from (select to_jsonb(t)::text as line from workspace_role t union all select to_jsonb(t)::text from member t
        union all select to_jsonb(t)::text from app_membership t union all select to_jsonb(t)::text from app_user t
        union all select to_jsonb(t)::text from workspace_place t) rows_of_directory`;
const OPEN = `select from cell_workspace where workspace_id = $1 and state = 'open'`;

/** The rows of a deployment with several embedded databases. New workspaces are in all of them, in turn. */
export class CellRows implements Rows {
  private readonly places = new Map<number, number>();

  private constructor(
    private readonly servers: readonly EmbeddedServer[],
    /** By the number of the cell. */
    private readonly cells: readonly StoredRows[],
  ) {}

  /** @param folders those of the databases, home first */
  static async open(folders: readonly string[]): Promise<CellRows> {
    const servers = [];
    for (const dataDir of folders) servers.push(await attachEmbeddedServer({ dataDir, isReplicated: true }));
    const cells = [];
    for (const server of servers) cells.push(await StoredRows.open(server));
    return new CellRows(servers, cells);
  }

  /** Call it before a process reserves ids. */
  async spreadIds(): Promise<void> {
    for (const [number, cell] of this.cells.entries()) await cell.spreadIds(number);
  }

  send<Row>(workspaces: readonly number[], statement: BoundStatement<Row>): Promise<Row[]> {
    const [number = 0] = workspaces.map((id) => this.places.get(id));
    return this.cells[number]!.send(workspaces, statement);
  }

  sendAtHome<Row>(workspaces: readonly number[], statement: BoundStatement<Row>): Promise<Row[]> {
    return this.cells[0]!.send(workspaces, statement);
  }

  /** The first is in the first cell besides home. */
  async addWorkspace(appId: number, name: string): Promise<number> {
    const id = await this.cells[0]!.addWorkspace(appId, name);
    const number = (this.places.size + 1) % this.cells.length;
    await this.sendAtHome([], sql(PLACE, id, number));
    this.places.set(id, number);
    return id;
  }

  async untilCopied(): Promise<void> {
    await this.untilCopiesAgree();
    for (const id of this.places.keys()) {
      await until(async () => (await this.send([id], sql(OPEN, id))).length > 0);
    }
  }

  /** In every database, because none but its own may have any besides the directory. */
  async rowsOf(workspaceId: number): Promise<readonly string[]> {
    // What a request before has changed at home is a change of that request, and not of the next one.
    await this.untilCopiesAgree();
    const rows = [];
    for (const [number, cell] of this.cells.entries()) {
      for (const row of await cell.rowsOf(workspaceId)) rows.push(`${number} ${row}`);
    }
    return rows;
  }

  async end(): Promise<void> {
    for (const cell of this.cells) await cell.end();
    for (const server of [...this.servers].reverse()) await server.detach();
  }

  private async untilCopiesAgree(): Promise<void> {
    const workspaces = [...this.places.keys()];
    const [expected] = await this.sendAtHome(workspaces, sql<{ digest: string }>(COPIED));
    for (const cell of this.cells) {
      await until(async () => {
        const [found] = await cell.send(workspaces, sql<{ digest: string }>(COPIED));
        return found?.digest === expected?.digest;
      });
    }
  }
}

const PRELOADED = resolve(__dirname, '../../dist/isolation/without-filters.js');
const UNLIMITED = '1000000';
/** The settings of a service whose rows are compared. Without a worker, no row changes between two requests. */
export const ENVIRONMENT = {
  WORKER: 'off',
  RATE_LIMIT_PER_SECOND: UNLIMITED,
  ORDER_LIMIT_PER_MINUTE: UNLIMITED,
  OPEN_QUOTES_PER_WORKSPACE: UNLIMITED,
};

/** A service, as requests need it. */
export type CalledService = Pick<Service, 'url' | 'tokenOf'>;

/** A service that sends its statements without conditions on the workspace. */
export interface UnfilteredService extends CalledService {
  /** What it has sent so far. */
  statements(): readonly SentStatement[];
}

/** A statement as one connection has prepared it. */
interface SentStatement {
  readonly name: string;
  /** Whether a condition was removed. */
  readonly isChanged: boolean;
  /** Whether it still has a condition on a workspace. */
  readonly hasFilter: boolean;
}

/** One database with any number of services. */
export class Services {
  private readonly running: RunningService[] = [];
  private readonly tokens = new Map<string, Promise<string>>();

  private constructor(
    private readonly folder: TestDataDir,
    private readonly server: EmbeddedServer,
    readonly rows: StoredRows,
  ) {}

  static async open(): Promise<Services> {
    const folder = await demoDataDir();
    const server = await attachEmbeddedServer({ dataDir: folder.path });
    const rows = await StoredRows.open(server);
    await rows.spreadIds();
    return new Services(folder, server, rows);
  }

  /** Starts the service as it is published. */
  start(): Promise<CalledService> {
    return this.startWith({});
  }

  /** @param kept the statements that keep their conditions */
  async startUnfiltered(name: string, kept: readonly string[] = []): Promise<UnfilteredService> {
    const logFile = join(this.folder.path, `${name}.jsonl`);
    const { keeps, logFile: log } = FILTER_SETTINGS;
    const preload = { NODE_OPTIONS: `--require ${PRELOADED}`, [log]: logFile, [keeps]: kept.join(',') };
    const statements = () =>
      readFileSync(logFile, 'utf8')
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as SentStatement);
    return { ...(await this.startWith(preload)), statements };
  }

  async stop(): Promise<void> {
    for (const service of this.running) await service.stop();
    await this.rows.end();
    await this.server.detach();
    await this.folder.remove();
  }

  private async startWith(more: Readonly<Record<string, string>>): Promise<CalledService> {
    const dataDir = this.folder.path;
    const service = await RunningService.start({ dataDir, environment: { ...ENVIRONMENT, ...more } });
    this.running.push(service);
    return { url: service.url, tokenOf: (email) => this.tokenOf(email) };
  }

  private tokenOf(email: string): Promise<string> {
    const token = this.tokens.get(email) ?? localToken(this.folder.path, email);
    this.tokens.set(email, token);
    return token;
  }
}
