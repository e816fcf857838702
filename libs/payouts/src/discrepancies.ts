import type { TransactionStatus } from '@banking/domain';
import {
  type Books,
  decide,
  lockAndRead,
  postReturns,
  preparePosting,
  requirePosted,
  returnEntry,
} from '@banking/ledger';
import { bind, type BoundStatement, type Database, scopesOf, sqlStatement } from '@banking/postgres';
import type { NoteChanges, Outgoing } from './open-payouts.js';

/** Two final statuses that exclude each other, or one event id with two statuses. */
export type DiscrepancyKind = 'credited_then_rejected' | 'rejected_then_credited' | 'event_reused';

/** How a discrepancy was resolved: the money was returned to the customer, it was reclaimed, or no money was moved. */
export type Resolution = 'returned' | 'reclaimed' | 'dismissed';

/** Events of one payout that contradict each other. */
export interface Discrepancy {
  readonly workspaceId: number;
  readonly id: number;
  readonly transactionId: number;
  readonly accountId: number;
  /** The amount that left the account, without the fee: minor units of the account's currency. */
  readonly amount: string;
  /** ISO 4217. */
  readonly currencyCode: string;
  readonly kind: DiscrepancyKind;
  /** RFC 3339. */
  readonly openedAt: string;
  /** Every event of the payout, in the order in which it was recorded. */
  readonly events: readonly {
    readonly providerEvent: string;
    readonly status: string;
    readonly reasonCode?: string;
    readonly recordedAt: string;
  }[];
  readonly resolvedAt?: string;
  /** `settled` without an operator: the bank reported the return of a payment that it had rejected and executed. */
  readonly resolution?: Resolution | 'settled';
  readonly resolvedBy?: string;
  readonly note?: string;
  readonly resolutionTransactionId?: number;
}

const LIST_DISCREPANCIES = sqlStatement<{ discrepancy: Discrepancy }>(
  'list_discrepancies',
  `select json_strip_nulls(json_build_object(
            'workspaceId', d.workspace_id, 'id', d.id, 'transactionId', d.transaction_id,
            'accountId', p.account_id, 'amount', p.amount::text, 'currencyCode', c.code, 'kind', d.kind, 'openedAt', rfc3339(d.opened_at),
            'events', (
              select json_agg(json_build_object('providerEvent', e.provider_event, 'status', e.status, 'reasonCode', e.reason_code,
                                                'recordedAt', rfc3339(e.created_at)) order by e.id)
              from remittance_event e where (e.workspace_id, e.transaction_id) = (d.workspace_id, d.transaction_id)),
            'resolvedAt', rfc3339(d.resolved_at), 'resolution', d.resolution, 'resolvedBy', d.resolved_by, 'note', d.note,
            'resolutionTransactionId', d.resolution_transaction_id)) as discrepancy
   from discrepancy d
   cross join lateral (
     select t.account_id, t.amount, t.currency_id from transfer t
     where t.workspace_id = d.workspace_id and t.transaction_id = d.transaction_id
       and t.direction = 'debit' and t.type <> 'fee' limit 1) p
   join currency c on c.id = p.currency_id
   where d.workspace_id = any($1::bigint[]) and (d.resolved_at is null or $2)
   order by d.resolved_at is not null, d.opened_at, d.workspace_id, d.id
   limit $3`,
);

interface FoundDiscrepancy {
  readonly transaction_id: bigint;
  readonly kind: DiscrepancyKind;
  readonly is_open: boolean;
  /** Whether the bank has the money again. */
  readonly is_returned: boolean;
}

const FIND_DISCREPANCY = sqlStatement<FoundDiscrepancy>(
  'find_discrepancy',
  `select d.transaction_id, d.kind, d.resolved_at is null as is_open, exists (
     select from remittance_event e where e.workspace_id = d.workspace_id and e.transaction_id = d.transaction_id and e.is_return) as is_returned
   from discrepancy d where d.workspace_id = $1 and d.id = $2`,
);

const RESOLVE_DISCREPANCY = sqlStatement(
  'resolve_discrepancy',
  `update discrepancy set resolved_at = statement_timestamp(), resolution = $3, note = $4, resolution_transaction_id = $5
   where workspace_id = $1 and id = $2`,
);

/** Lists the discrepancies of these workspaces: the open ones, the oldest first, then on request the resolved ones. */
export async function listDiscrepancies(
  database: Database,
  workspaceIds: readonly number[],
  { includesResolved = false, limit = 100 }: { readonly includesResolved?: boolean; readonly limit?: number } = {},
): Promise<Discrepancy[]> {
  const found: Discrepancy[] = [];
  for (const workspaces of scopesOf(workspaceIds)) {
    const query = bind(LIST_DISCREPANCIES, workspaces, includesResolved, limit);
    const [rows] = await database.pipeline({ workspaces }, [query] as const);
    found.push(...rows.map(({ discrepancy }) => discrepancy));
  }
  return found.sort(byListOrder).slice(0, limit);
}

/** The order of the statement, across its scopes. */
const byListOrder = (left: Discrepancy, right: Discrepancy): number =>
  Number(left.resolvedAt !== undefined) - Number(right.resolvedAt !== undefined) ||
  (left.openedAt < right.openedAt ? -1 : Number(left.openedAt > right.openedAt)) ||
  left.workspaceId - right.workspaceId ||
  left.id - right.id;

const CONTRADICTED = sqlStatement<OutgoingRow>(
  'contradicted_payouts',
  'select workspace_id, transaction_id from contradicted_payouts($1)',
);

/**
 * Finds the payouts, of any workspace, whose money may be at another place at the bank than in the books: those with an open discrepancy, and
 * those whose money an operator returned in the last days.
 */
export async function findContradictedPayouts(database: Database, days: number): Promise<readonly Outgoing[]> {
  const [rows] = await database.pipeline({}, [bind(CONTRADICTED, days)] as const);
  return rows.map((row) => ({ workspaceId: Number(row.workspace_id), transactionId: Number(row.transaction_id) }));
}

export interface ResolveDiscrepancyInput {
  readonly workspaceId: number;
  readonly discrepancyId: number;
  readonly resolution: Resolution;
  /** Required where the discrepancy is dismissed. */
  readonly note?: string | undefined;
  /** Writes the resolution to the audit trail. */
  readonly noteChanges?: NoteChanges | undefined;
}

/**
 * `not_applicable`: this resolution does not fit the kind, the money is already where it would move it, or it would reclaim what the bank
 * has again.
 */
export type ResolveOutcome =
  'not_found' | 'already_resolved' | 'not_applicable' | { readonly transactionId: number | undefined };

/**
 * Resolves a discrepancy once. `returned` and `reclaimed` post a return of the transaction that moved the money last; for `reclaimed`
 * that one is a return itself. Money and resolution are committed together.
 *
 * @throws Refusal `insufficient_funds` where the balance is below the reclaimed amount, `balance_limit_exceeded` where the returned
 *   amount exceeds the limit. Nothing was written.
 */
export async function resolveDiscrepancy(books: Books, input: ResolveDiscrepancyInput): Promise<ResolveOutcome> {
  const { workspaceId, discrepancyId, resolution, note, noteChanges } = input;
  const { database } = books;
  const find = bind(FIND_DISCREPANCY, workspaceId, discrepancyId);
  const found = await database.read({ workspaces: [workspaceId] }, find);
  if (!found) return 'not_found';
  const transactionId = Number(found.transaction_id);
  const resource = { type: 'discrepancy', id: discrepancyId };
  const resolve = (postedId?: number) => [
    bind(RESOLVE_DISCREPANCY, workspaceId, discrepancyId, resolution, note ?? null, postedId ?? null),
    ...(noteChanges ? [noteChanges([{ workspaceId, operation: 'resolveDiscrepancy', resource }])] : []),
  ];

  const payout = [{ workspaceId, transactionId }];
  const position = await database.read({ workspaces: [workspaceId] }, findPositions(payout));
  if (!position) return 'not_found';
  const posting =
    resolution === 'dismissed'
      ? undefined
      : await preparePosting(books, [
          { entries: [await returnEntry(database, workspaceId, Number(position.latestId))] },
        ]);
  return database.transaction(
    { workspaces: [workspaceId], actorType: 'operator' },
    async (tx): Promise<ResolveOutcome> => {
      const [[held], [now], [latest]] = await tx.pipeline([
        lockTransactions(payout),
        find,
        findPositions(payout),
      ] as const);
      if (!held || !now || !latest) throw new Error(`transaction ${transactionId} has no payout`);
      if (!now.is_open) return 'already_resolved';
      if (!posting) {
        await tx.commit(resolve());
        return { transactionId: undefined };
      }
      const isBack = resolution === 'reclaimed';
      const isMoved = latest.latestId !== position.latestId;
      const isKept = isBack && now.is_returned;
      if (held.status === 'pending' || isMoved || latest.isBack !== isBack || isKept || !fits(now.kind, resolution))
        return 'not_applicable';

      const { context } = await lockAndRead(tx, posting);
      const posted = posting.proposals.flatMap((proposal) => requirePosted(decide(context, proposal)));
      const postedId = posted[0]?.id;
      await tx.commit([...postReturns(posted), ...resolve(postedId)]);
      return { transactionId: postedId };
    },
  );
}

const fits = (kind: DiscrepancyKind, resolution: Resolution): boolean =>
  kind === 'event_reused' || (kind === 'credited_then_rejected') === (resolution === 'returned');

/** Ids of a payout as the database returns them. */
interface OutgoingRow {
  readonly workspace_id: bigint;
  readonly transaction_id: bigint;
}

/** A transaction under its lock. */
export interface LockedTransaction extends OutgoingRow {
  readonly status: TransactionStatus;
}

/** Where the money of a payout is: with the network, or back on the customer's account. */
export interface MoneyPosition extends OutgoingRow {
  /** The transaction that moved it last: that of the payout, its return, the return of that, and so on. */
  readonly latestId: bigint;
  readonly isBack: boolean;
}

/** Every caller locks them before any account, so that the events and resolutions of one transaction are recorded one after the other. */
const LOCK_TRANSACTIONS = sqlStatement<LockedTransaction>(
  'lock_payouts',
  'select workspace_id, transaction_id, status from lock_payouts($1::bigint[], $2::bigint[])',
);

/** A separate SQL statement under the locks, so that it reads what their previous owners wrote. A return is unique. */
const FIND_POSITIONS = sqlStatement<MoneyPosition>(
  'find_money_positions',
  `with recursive link (workspace_id, transaction_id, id, position) as (
     select w, i, i, 0 from unnest($1::bigint[], $2::bigint[]) u(w, i)
     union all
     select l.workspace_id, l.transaction_id, r.id, l.position + 1
     from link l cross join lateral (
       select id from transaction where workspace_id = l.workspace_id and return_of = l.id limit 1
     ) r
   )
   select distinct on (workspace_id, transaction_id) workspace_id, transaction_id, id as "latestId", position % 2 = 1 as "isBack"
   from link order by workspace_id, transaction_id, position desc`,
);

export const lockTransactions = (list: readonly Outgoing[]): BoundStatement<LockedTransaction> =>
  bind(LOCK_TRANSACTIONS, ...outgoingColumns(list));

export const findPositions = (list: readonly Outgoing[]): BoundStatement<MoneyPosition> =>
  bind(FIND_POSITIONS, ...outgoingColumns(list));

/** The first two parameters of a statement on payouts: workspaces and transactions. */
export const outgoingColumns = (list: readonly Outgoing[]): [number[], number[]] => [
  list.map(({ workspaceId }) => workspaceId),
  list.map(({ transactionId }) => transactionId),
];

/** The name of a payout in a map. */
export const nameOfOutgoing = ({ workspaceId, transactionId }: Outgoing): string => `${workspaceId}/${transactionId}`;

/** The rows of a statement on payouts, by `nameOfOutgoing`. */
export function byOutgoing<Row extends OutgoingRow>(rows: readonly Row[]): ReadonlyMap<string, Row> {
  return new Map(rows.map((row) => [`${row.workspace_id}/${row.transaction_id}`, row]));
}
