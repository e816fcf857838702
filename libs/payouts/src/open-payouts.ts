import { createHash } from 'node:crypto';
import type { LeasedPayout } from '@banking/ledger';
import { bind, type BoundStatement, type Database, lookup, sqlStatement } from '@banking/postgres';
import { type FreshWork, UNPARKED_RANGES } from '@banking/work-queue';

/** The kind of work that submits a payout. */
export const PAYOUT = 'payout';

/** A payout that was written as begun and claimed, for the worker of this process. */
export const freshPayout = ({ workspaceId, transactionId, keyNonce, rail }: LeasedPayout): FreshWork => ({
  workspaceId,
  rail,
  subjectId: transactionId,
  note: keyNonce,
});

/** A transaction that goes to a network, or has gone there. */
export interface Outgoing {
  readonly workspaceId: number;
  readonly transactionId: number;
}

const SERVED_HERE = sqlStatement<{ id: bigint }>(
  'workspaces_of_payouts_served',
  'select u.id from unnest($1::bigint[]) u(id) where is_served_here(u.id)',
);

/** Those whose key names a workspace that this database serves, or none. A network that several databases share has the payouts of all. */
export async function servedHere<Keyed extends { readonly key: string }>(
  database: Database,
  all: readonly Keyed[],
): Promise<readonly Keyed[]> {
  const workspaceOf = new Map(all.map(({ key }) => [key, parsePayoutKey(key)?.workspaceId]));
  const named = [...new Set(workspaceOf.values())].filter((id) => id !== undefined);
  const [rows] = await database.pipeline({}, [bind(SERVED_HERE, named)] as const);
  const served = new Set<number | undefined>([undefined, ...rows.map(({ id }) => Number(id))]);
  return all.filter(({ key }) => served.has(workspaceOf.get(key)));
}

/**
 * Open payouts that are counted, in ranges of the queue: of each network those whose next step is the soonest, and those that were parked first.
 * A settled or failed payout has no work.
 */
const COUNTED = `(
    (${UNPARKED_RANGES}
     select w.workspace_id, w.subject_id from ranges k cross join lateral (
       select workspace_id, subject_id from work where kind = k.kind and rail = k.rail and parked_at is null
       order by greatest(due_at, leased_until) limit 250) w
     where k.kind = '${PAYOUT}')
    union all
    (select workspace_id, subject_id from work where kind = '${PAYOUT}' and parked_at is not null
     order by parked_at, workspace_id, subject_id limit 250)
  )`;

/** Sets the scope of `COUNT_OPEN_PAYOUTS`, which follows it in the same pipeline: the workspaces of these payouts. */
export const SCOPE_OPEN_PAYOUTS = sqlStatement(
  'scope_open_payouts',
  `select set_config('app.workspaces', coalesce('{' || string_agg(distinct w.workspace_id::text, ',') || '}', '{}'), true) as workspaces
   from ${COUNTED} w`,
);

/** Over all workspaces, by network and status: how many, and the age of the oldest. */
export const COUNT_OPEN_PAYOUTS = sqlStatement<OpenPayouts>(
  'count_open_payouts',
  // Those that wait for a decision are counted by themselves.
  `select p.rail, p.status, count(*)::int as payouts,
          greatest(floor(extract(epoch from statement_timestamp() - min(p.created_at))), 0)::int as seconds
   from ${COUNTED} w
   cross join ${lookup(`select o.rail, o.status, o.created_at from payout o
     where (o.workspace_id, o.transaction_id) = (w.workspace_id, w.subject_id) and not (o.needs_decision and o.status = 'due')`)} p
   group by p.rail, p.status`,
);

/** Open payouts of a network with a status. */
export interface OpenPayouts {
  readonly rail: string;
  readonly status: string;
  readonly payouts: number;
  /** The age of the oldest. */
  readonly seconds: number;
}

/** Counts the open payouts of all workspaces, by network and status. */
export async function readOpenPayouts(database: Database): Promise<readonly OpenPayouts[]> {
  const [, rows] = await database.pipeline({}, [bind(SCOPE_OPEN_PAYOUTS), bind(COUNT_OPEN_PAYOUTS)] as const);
  return rows;
}

/** The payout of a key. */
interface PayoutName {
  readonly workspaceId: number;
  readonly transactionId: number;
  /**
   * Random, from the row of the payout. Ids alone do not name a payment: after a restore the sequences give ids of lost transactions
   * again.
   */
  readonly nonce: string;
}

const KEY = /^payout-([1-9]\d{0,15})-([1-9]\d{0,15})-([0-9a-f]{12})$/;

/** The idempotency key of a payout: the same for every try and every worker, and never that of another payout. */
export function payoutKey({ workspaceId, transactionId, nonce }: PayoutName): string {
  return `payout-${workspaceId}-${transactionId}-${nonce}`;
}

/** The payout that a key names, which the books may not have; undefined for a key of another service. */
export function parsePayoutKey(key: string): PayoutName | undefined {
  const [, workspace, transaction, nonce = ''] = KEY.exec(key) ?? [];
  const [workspaceId, transactionId] = [Number(workspace), Number(transaction)];
  if (!Number.isSafeInteger(workspaceId) || !Number.isSafeInteger(transactionId)) return undefined;
  return { workspaceId, transactionId, nonce };
}

/**
 * The unique end-to-end transaction reference of a payout: a UUID of version 4 (RFC 9562), as banks require it. It is made of the key, which
 * has random bits of its own, so that every try and every reader has the same one. The key cannot be computed from it.
 */
export function uetrOf(key: string): string {
  const bytes = createHash('sha256').update(`uetr ${key}`).digest().subarray(0, 16);
  bytes[6] = (bytes[6]! & 0x0f) | 0x40;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** What an operator has changed in a workspace. */
export interface NotedChange {
  readonly workspaceId: number;
  readonly operation: string;
  readonly resource: { readonly type: string; readonly id: number };
}

/** Makes the statement that writes changes to the audit trail, in the database transaction of the changes. */
export type NoteChanges = (changes: readonly NotedChange[]) => BoundStatement<unknown>;
