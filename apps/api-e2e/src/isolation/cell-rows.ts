import type { BoundStatement } from '@banking/postgres';
import { attachEmbeddedServer, type EmbeddedServer } from '@banking/embedded-postgres';
import { sql, until } from '@banking/postgres/testing';
import { type Rows, StoredRows } from './stored-rows.js';

const PLACE = `insert into workspace_place (workspace_id, cell_number) values ($1, $2)`;
const COPIED = `select (select count(*) from workspace_role)::int + (select count(*) from app_membership)::int as count,
  (select count(*) from workspace_place)::int as places`;
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
    const [expected] = await this.sendAtHome([...this.places.keys()], sql<object>(COPIED));
    for (const cell of this.cells) {
      await until(async () => {
        const [found] = await cell.send([...this.places.keys()], sql<object>(COPIED));
        return JSON.stringify(found) === JSON.stringify(expected);
      });
    }
    for (const id of this.places.keys()) {
      await until(async () => (await this.send([id], sql(OPEN, id))).length > 0);
    }
  }

  /** In every database, because none but its own may have any besides the directory. */
  async rowsOf(workspaceId: number): Promise<readonly string[]> {
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
}
