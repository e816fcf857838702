import { APP_ROLE, type Database, SCHEMA, type BoundStatement } from '@banking/postgres';
import { sql, openDatabase } from '@banking/postgres/testing';
import { PLAN_PAGES_ONCE } from '../lists/plan-by-order.js';
import { type TestDatabase } from './test-databases.js';

/** The statements that some work sends. */
export async function sentBy(
  database: Database,
  work: () => Promise<unknown>,
): Promise<readonly BoundStatement<unknown>[]> {
  const pipeline = jest.spyOn(database, 'pipeline');
  try {
    await work();
    return pipeline.mock.calls.flatMap(([, bound]) => bound);
  } finally {
    pipeline.mockRestore();
  }
}

/** The statement of a page, with the settings of its planning before it. */
export async function pageSentBy(
  database: Database,
  work: () => Promise<unknown>,
): Promise<readonly [settings: BoundStatement<unknown>, page: BoundStatement<unknown>]> {
  const sent = await sentBy(database, work);
  const at = sent.indexOf(PLAN_PAGES_ONCE);
  const [settings, page] = sent.slice(at, at + 2);
  if (at < 0 || settings === undefined || page === undefined) throw new Error('no page was read');
  return [settings, page];
}

/** The pages and rows that one execution of a statement touched. */
export interface Touched {
  /** Reads of pages of 8 kB. */
  readonly buffers: number;
  /** Rows that the nodes of the plan returned or discarded. */
  readonly rows: number;
}

interface Node {
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Shared Hit Blocks': number;
  readonly 'Shared Read Blocks': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Join Filter'?: number;
  readonly 'Rows Removed by Index Recheck'?: number;
  readonly Plans?: readonly Node[];
}

/** A connection of the service that explains statements it has prepared. */
export class Explaining {
  private readonly prepared = new Set<string>();

  private constructor(private readonly database: Database) {}

  static async open({ connection }: TestDatabase): Promise<Explaining> {
    const database = await openDatabase({ connection, role: APP_ROLE, schema: SCHEMA, poolSize: 1 });
    await database.pipeline({}, [sql('set plan_cache_mode = force_generic_plan')]);
    return new Explaining(database);
  }

  /** A generic plan is made when a statement is explained for the first time. */
  async explain(
    workspaceId: number,
    settings: BoundStatement<unknown>,
    { statement: { name, text }, values }: BoundStatement<unknown>,
  ): Promise<Touched> {
    const scope = { workspaces: [workspaceId] };
    if (!this.prepared.has(name)) await this.database.pipeline(scope, [sql(`prepare "${name}" as ${text}`)]);
    this.prepared.add(name);
    const literals = values.map((value) => (value === null ? 'null' : `'${String(value).replaceAll("'", "''")}'`));
    const call = `"${name}"${literals.length > 0 ? `(${literals.join(', ')})` : ''}`;
    const [, [row]] = await this.database.pipeline(scope, [
      settings,
      sql<{ 'QUERY PLAN': readonly [{ readonly Plan: Node }] }>(
        `explain (analyze, buffers, format json) execute ${call}`,
      ),
    ]);
    const plan = row!['QUERY PLAN'][0].Plan;
    return { buffers: plan['Shared Hit Blocks'] + plan['Shared Read Blocks'], rows: rowsOf(plan) };
  }

  close(): Promise<void> {
    return this.database.end();
  }
}

const rowsOf = (node: Node): number =>
  (node['Actual Rows'] +
    (node['Rows Removed by Filter'] ?? 0) +
    (node['Rows Removed by Join Filter'] ?? 0) +
    (node['Rows Removed by Index Recheck'] ?? 0)) *
    node['Actual Loops'] +
  (node.Plans ?? []).reduce((sum, inner) => sum + rowsOf(inner), 0);
