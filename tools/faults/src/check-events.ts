import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import type { Violation } from './check-orders.js';
import type { DatabaseServer } from './database-server.js';

const INTERVAL_MS = 50;
const RECORDED_MS = 60_000;
const PAGE = 1_000;

/** The events of each workspace with an id above the last one that was read. */
const NEXT = `
  select e.workspace_id::text as workspace, e.id::text as id
  from unnest($1::bigint[], $2::bigint[]) c (workspace, last)
  cross join lateral (
    select workspace_id, id from banking.event where workspace_id = c.workspace and id > c.last order by id limit ${PAGE}) e`;

/** A reader who follows the cursor of each workspace while writers and recorders are killed. */
export class EventReader {
  private readonly last = new Map<string, string>();
  private readonly first = new Map<string, string>();
  private count = 0;

  constructor(private readonly database: DatabaseServer) {}

  /** Reads until the signal, from the events that are there. While the database is down, it tries to connect again. */
  async follow(signal: AbortSignal, onEvents: (events: number) => void): Promise<void> {
    let client: Client | undefined;
    while (!signal.aborted) {
      try {
        client ??= await this.database.connect();
        if (this.first.size === 0) await this.begin(client);
        onEvents(await this.read(client));
      } catch {
        await client?.end().catch(() => undefined);
        client = undefined;
      }
      await sleep(INTERVAL_MS, undefined, { signal }).catch(() => undefined);
    }
    await client?.end().catch(() => undefined);
  }

  /** Reads the rest when all changes are recorded, and compares the number with the events that are stored. */
  async compare(): Promise<Violation[]> {
    const client = await this.database.connect();
    try {
      await untilRecorded(client);
      while ((await this.read(client)) > 0);
      const { rows } = await client.query<{ events: string }>(
        `select count(*)::text as events
         from unnest($1::bigint[], $2::bigint[]) c (workspace, first) join banking.event e on e.workspace_id = c.workspace and e.id > c.first`,
        [[...this.first.keys()], [...this.first.values()]],
      );
      const stored = Number(rows[0]?.events);
      if (stored === this.count) return [];
      return [{ check: 'events', detail: `a reader who followed the cursor got ${this.count} of ${stored} events` }];
    } finally {
      await client.end();
    }
  }

  private async begin(client: Client): Promise<void> {
    const { rows } = await client.query<{ workspace: string; last: string }>(
      `select w.id::text as workspace, coalesce((select max(e.id) from banking.event e where e.workspace_id = w.id), 0)::text as last
       from banking.workspace w`,
    );
    for (const { workspace, last } of rows) {
      this.first.set(workspace, last);
      this.last.set(workspace, last);
    }
  }

  private async read(client: Client): Promise<number> {
    const { rows } = await client.query<{ workspace: string; id: string }>(NEXT, [
      [...this.last.keys()],
      [...this.last.values()],
    ]);
    for (const { workspace, id } of rows) this.last.set(workspace, id);
    this.count += rows.length;
    return rows.length;
  }
}

/** Waits for the workers, which record all changes. */
async function untilRecorded(client: Client): Promise<boolean> {
  const until = Date.now() + RECORDED_MS;
  for (;;) {
    const { rows } = await client.query('select from banking.change_outbox limit 1');
    if (rows.length === 0) return true;
    if (Date.now() > until) return false;
    await sleep(INTERVAL_MS);
  }
}

const GAPS = `
  select resource_type || ' ' || resource_id as name from banking.event
  group by workspace_id, resource_type, resource_id having min(sequence) <> 1 or max(sequence) <> count(*) limit 5`;

/** Rows whose last status has no event. Rows of a workspace have moved with its events. */
const STATUSES = `
  with stored (workspace_id, type, id, status) as (
    select workspace_id, 'order', id, status from banking.customer_order
    union all select workspace_id, 'execution', id, status from banking.execution
    union all select workspace_id, 'transaction', id, status from banking.transaction),
  told as (
    select distinct on (workspace_id, resource_type, resource_id) workspace_id, resource_type, resource_id,
           changes -> 'status' ->> 'after' as status
    from banking.event where changes ? 'status' order by workspace_id, resource_type, resource_id, sequence desc)
  select s.type || ' ' || s.id || ' is ' || s.status || ' and its events end with ' || coalesce(t.status, 'nothing') as name
  from stored s left join told t on t.workspace_id = s.workspace_id and t.resource_type = s.type and t.resource_id = s.id
  where s.status is distinct from t.status limit 5`;

/** Compares the events of a database with its rows, when all changes are recorded. */
export async function checkEvents(database: DatabaseServer): Promise<Violation[]> {
  const client = await database.connect();
  try {
    if (!(await untilRecorded(client))) {
      return [{ check: 'events', detail: 'changes are not events a minute after the faults ended' }];
    }
    const gaps = await client.query<{ name: string }>(GAPS);
    const statuses = await client.query<{ name: string }>(STATUSES);
    return [
      ...gaps.rows.map(({ name }): Violation => ({ check: 'events', detail: `the events of ${name} have a gap` })),
      ...statuses.rows.map(({ name }): Violation => ({ check: 'events', detail: name })),
    ];
  } finally {
    await client.end();
  }
}
