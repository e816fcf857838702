import { EVENT_TYPES, FINAL_EVENT_TYPES } from '@banking/domain';
import type { Database } from '@banking/postgres';
import type { FreshDatabase } from '@banking/postgres/testing';
import { recordChanges } from '../events/record-changes.js';

/** An event as it is stored. */
export interface EventRow {
  readonly workspace_id: bigint;
  readonly id: bigint;
  readonly type: string;
  readonly resource_type: string;
  readonly resource_id: bigint;
  readonly sequence: number;
  readonly changes: { readonly status?: { readonly before: string | null; readonly after: string } } & Readonly<
    Record<string, unknown>
  >;
  readonly actor: { readonly type: string; readonly id?: number };
}

/** The rows that have events, with the last status of those that have a status. */
const RESOURCES = `
  select 'order' as type, workspace_id, id, status from customer_order
  union all select 'execution', workspace_id, id, status from execution
  union all select 'transaction', workspace_id, id, status from transaction
  union all select 'account', workspace_id, id, status from account where kind = 'customer'
  union all select 'transfer', workspace_id, id, null from transfer where account_version is not null
  union all select 'recipient', workspace_id, id, null from recipient
  union all select 'quote', workspace_id, id, null from quote
  union all select 'webhookEndpoint', workspace_id, id, status from webhook_endpoint`;

/** Records all changes that are committed. */
export async function recordAll(database: Database): Promise<void> {
  while ((await recordChanges(database)) > 0);
}

/** All events with an id above one, of all workspaces. */
export async function readEvents(owner: FreshDatabase['owner'], after = 0n): Promise<readonly EventRow[]> {
  const { rows } = await owner.query<EventRow>('select * from event where id > $1 order by id', [after]);
  return rows;
}

/**
 * Records all changes, and compares the events of all workspaces with the rows: each row that was written since the migration has events,
 * their sequence has no gap, each continues the status of the one before by a listed step, none follows one of a final type, and the last
 * one has the status of the row.
 *
 * @returns the findings
 */
export async function verifyEvents({
  database,
  owner,
}: Pick<FreshDatabase, 'database' | 'owner'>): Promise<readonly string[]> {
  await recordAll(database);
  const chains = new Map<string, EventRow[]>();
  for (const event of await readEvents(owner)) {
    const name = `${event.workspace_id}/${event.resource_type}/${event.resource_id}`;
    const chain = chains.get(name);
    if (chain) chain.push(event);
    else chains.set(name, [event]);
  }
  const findings = [...chains].flatMap(([name, chain]) => findingsOf(name, chain));
  const { rows } = await owner.query<{ name: string; status: string | null }>(
    `select workspace_id || '/' || type || '/' || id as name, status from (${RESOURCES}) r`,
  );
  for (const { name, status } of rows) {
    const chain = chains.get(name);
    if (!chain) findings.push(`${name} has no event`);
    const last = chain?.findLast(({ changes }) => changes.status)?.changes.status?.after;
    if (chain && status !== null && last !== status)
      findings.push(`${name} is ${status}, and its events end with ${last}`);
  }
  return findings;
}

function findingsOf(name: string, chain: readonly EventRow[]): string[] {
  const findings: string[] = [];
  let status: string | null = null;
  for (const [index, { type, sequence, changes, resource_type: resource }] of chain.entries()) {
    if (sequence !== index + 1) findings.push(`${name} has the sequence ${sequence} at ${index + 1}`);
    const row = EVENT_TYPES.find((one) => one.type === type);
    if (!row) findings.push(`${name} has the unknown type ${type}`);
    const former = chain[index - 1]?.type;
    if (FINAL_EVENT_TYPES.some((final) => final === former)) findings.push(`${name}: ${type} follows ${former}`);
    if (!changes.status) continue;
    const { before, after } = changes.status;
    if (resource !== 'payout' && before !== status)
      findings.push(`${name}: ${type} begins with ${before} after ${status}`);
    const steps: readonly (readonly [string | null, string])[] = row?.steps ?? [];
    if (!steps.some(([from, to]) => from === before && to === after)) {
      findings.push(`${name}: ${type} is not the type of the step from ${before} to ${after}`);
    }
    status = after;
  }
  return findings;
}
