import { Database } from '../database.js';
import { OPERATOR_ROLE, SCHEMA } from '../names.js';
import { bind, sqlStatement, type BoundStatement, type SqlStatement } from '../sql-statement.js';
import type { FreshDatabase } from './fresh-database.js';

interface PlanNode {
  readonly 'Shared Hit Blocks': number;
  readonly 'Shared Read Blocks': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly PlanNode[];
}

/** The pages and rows that one execution of a statement touched. */
interface PlanCost {
  /** Pages read, in memory or not. */
  readonly buffers: number;
  /** Rows that were read and then dropped. */
  readonly filtered: number;
}

let probes = 0;

/** A statement of the service, prepared with the settings of its sessions and a generic plan, to measure what it touches. */
export class PlanProbe {
  private constructor(
    private readonly database: Database,
    private readonly name: string,
    private readonly before: readonly BoundStatement<unknown>[],
  ) {}

  /**
   * @param types of the parameters, such as `text[], int`
   * @param before a statement that the service sends in front of it
   */
  static async open(
    { connection }: FreshDatabase,
    { text }: SqlStatement<unknown>,
    types: string,
    before?: SqlStatement<unknown>,
  ): Promise<PlanProbe> {
    const database = await Database.open({
      connection,
      role: OPERATOR_ROLE,
      schema: SCHEMA,
      poolSize: 1,
      statementTimeoutMs: 60_000,
    });
    const name = `probe_${++probes}`;
    await database.pipeline({}, [
      bind(sqlStatement('probe.generic', `select set_config('plan_cache_mode', 'force_generic_plan', false)`)),
      bind(sqlStatement(`probe.${name}`, `prepare ${name} ${types === '' ? '' : `(${types})`} as ${text}`)),
    ]);
    return new PlanProbe(database, name, before ? [bind(before)] : []);
  }

  /** Executes the statement, and rolls it back. @param values as SQL, such as `array['a'], 16` */
  async cost(values: string, workspaces: readonly number[] = []): Promise<PlanCost> {
    const execute = `execute ${this.name}${values === '' ? '' : ` (${values})`}`;
    const explain = sqlStatement<{ 'QUERY PLAN': readonly { readonly Plan: PlanNode }[] }>(
      `probe.explain.${++probes}`,
      `explain (analyze, buffers, format json) ${execute}`,
    );
    return this.database.transaction({ workspaces }, async (tx) => {
      if (this.before.length > 0) await tx.pipeline(this.before);
      const [[row]] = await tx.pipeline([bind(explain)] as const);
      const root = row!['QUERY PLAN'][0]!.Plan;
      const all = nodesOf(root);
      return {
        buffers: root['Shared Hit Blocks'] + root['Shared Read Blocks'],
        filtered: all.reduce((sum, node) => sum + (node['Rows Removed by Filter'] ?? 0), 0),
      };
    });
  }

  async close(): Promise<void> {
    await this.database.end();
  }
}

function nodesOf(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(nodesOf)];
}
