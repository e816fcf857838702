import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Violation } from './check-orders.js';
import type { Cluster } from './cluster.js';

const DEADLOCKS = 'select coalesce(sum(deadlocks), 0)::int as count from pg_stat_database';
/** Deadlock detected, serialization failure. */
const CONFLICT = /\b(40P01|40001)\b/;

/** Deadlocks that PostgreSQL has counted. */
export async function countDeadlocks({ database }: Cluster): Promise<number> {
  return (await database.query<{ count: number }>(DEADLOCKS))[0]?.count ?? 0;
}

/** No deadlock since the count, and no conflict that a process reported. */
export async function checkDeadlocks(cluster: Cluster, before: number): Promise<Violation[]> {
  const found = (await countDeadlocks(cluster)) - before;
  const violations: Violation[] =
    found > 0 ? [{ check: 'deadlocks', detail: `PostgreSQL counted ${found} deadlocks` }] : [];
  for (const { process } of cluster.members) {
    const log = await readFile(join(cluster.folder, `${process.name}.log`), 'utf8');
    const line = log.split('\n').find((one) => CONFLICT.test(one));
    if (line !== undefined)
      violations.push({ check: 'deadlocks', detail: `${process.name} logged ${line.slice(0, 300)}` });
  }
  return violations;
}
