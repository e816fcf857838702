import { type BoundStatement, Database, OWNER_ROLE, SCHEMA } from '@banking/postgres';
import type { EmbeddedServer } from '@banking/embedded-postgres';
import { sql } from '@banking/postgres/testing';

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
 * that of each request with the same content, in any workspace.
 *
 * @param marks the texts that its users chose
 */
export function canariesOf(rows: readonly string[], marks: readonly string[]): string[] {
  const all = rows.join('\n').replace(/"fingerprint": "[^"]*"/g, '');
  const found = [/(?<![\w.])\d{14}(?![\w.])/g, /(?<=\\\\x)[0-9a-f]{64}(?=")/g, /BA\d{16}/g].flatMap(
    (pattern) => all.match(pattern) ?? [],
  );
  return [...new Set([...marks, ...found.filter((text) => text.length !== 14 || Number(text) > FIRST_ID)])];
}
