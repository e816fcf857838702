import { randomUUID } from 'node:crypto';
import {
  type AddTransactionEventInput,
  type ClockChange,
  type Created,
  type FundAccountInput,
  isInstant,
  parseTransferAmount,
  Refusal,
  type RequestOptions,
  type SandboxClock,
  type Transaction,
  type Transfer,
} from '@banking/domain';
import {
  type Books,
  decide,
  lockAndRead,
  postReturns,
  preparePosting,
  type postDeposits,
  type Proposal,
  requirePosted,
} from '@banking/ledger';
import { decideRailEvents, prepareRailEvents, sandboxMessage, settlePayments } from '@banking/payouts';
import { bind, type Database, type DbTransaction, sqlStatement } from '@banking/postgres';
import { type AuditedCall, entriesOf } from '../audit/audited-call.js';
import { createOnce } from '../idempotency/create-once.js';
import { EXECUTION } from '../orders/schedule.js';
import type { Reading } from '../resources/reading.js';
import { transactionQuery, transferQuery } from '../transfers/transfers.js';

const READ_MODE = sqlStatement<{ is_sandbox: boolean }>('read_mode', 'select is_sandbox from deployment_mode');

/** Whether the database is a sandbox. The mode was stored when the database was created. */
export async function isSandbox(database: Database): Promise<boolean | undefined> {
  return (await database.read({}, bind(READ_MODE)))?.is_sandbox;
}

/**
 * Guards operations that exist only in a sandbox.
 *
 * @throws Refusal `route_not_found` in a live database
 */
export async function requireSandbox(database: Database): Promise<void> {
  if ((await isSandbox(database)) !== true) throw new Refusal('route_not_found');
}

/** Needs no lock: the currency of an account never changes. */
const PREPARE_FUNDING = sqlStatement<{ currency_id: number }>(
  'prepare_funding',
  `select currency_id from account where workspace_id = $1 and id = $2 and kind = 'customer'`,
);

/** Money that arrives, with the description of its sender. */
interface Funding extends FundAccountInput {
  readonly description?: string | undefined;
}

/** The operation of the keys of operators. */
export const FUNDING = 'fundAccount';

/**
 * Books money that has arrived: a credit of the account and a debit of settlement, completed at once, without fee or purpose.
 *
 * @param write the right by which it enters: that of an operator, or of a sandbox
 * @param admit asked before it books; what a repeated call booked is returned without it
 * @throws Refusal `amount_malformed`, `amount_out_of_range`, `account_not_found`, `account_disabled`, `balance_limit_exceeded`, and
 *   those of `admit` and `createOnce`
 */
export async function fundAccount(
  books: Books,
  reading: Reading,
  caller: AuditedCall,
  { accountId, amount: digits, description }: Funding,
  options: RequestOptions,
  write: typeof postDeposits,
  admit?: (tx: DbTransaction) => Promise<void>,
): Promise<Created<Transfer>> {
  const { workspaceId } = caller;
  const amount = parseTransferAmount(digits);
  if (amount === 0n) throw new Refusal('amount_malformed', 'The amount must be at least 1.');
  const prepared = await books.database.read(
    { workspaces: [workspaceId] },
    bind(PREPARE_FUNDING, workspaceId, accountId),
  );
  if (!prepared) throw new Refusal('account_not_found');

  const movement = { currencyId: prepared.currency_id, amount, type: 'funding' };
  const proposal: Proposal = {
    entries: [
      {
        workspaceId,
        status: 'completed',
        legs: [
          { ...movement, account: accountId, direction: 'credit', description },
          { ...movement, account: 'settlement', direction: 'debit' },
        ],
      },
    ],
  };
  const content = { amount: digits, ...(description !== undefined && { description }) };
  // The key of an operator names money that arrived, which no second account gets.
  const request = caller.origin?.isOperator
    ? { workspaceId, operation: FUNDING, content: { accountId, ...content } }
    : { workspaceId, operation: `fundAccount/${accountId}`, content };
  const posting = await preparePosting(books, [proposal]);
  return createOnce(reading, request, options, caller, async (tx) => {
    await admit?.(tx);
    const { context } = await lockAndRead(tx, posting);
    const posted = requirePosted(decide(context, proposal));
    const { id } = posted[0]!.transfers[0]!;
    return { writes: write(posted), audited: { type: 'transfer', id }, resource: transferQuery(workspaceId, id) };
  });
}

/** Needs no lock: a payout is never deleted. */
const FIND_PAYOUT = sqlStatement<{ transaction_id: bigint }>(
  'find_payout',
  'select transaction_id from payout where workspace_id = $1 and transaction_id = $2',
);

/**
 * Records a simulated event of the network, as a worker records a received one. Each call makes a provider event id of its own, so two
 * equal calls are two events. Returns the transaction after the event.
 *
 * @throws Refusal `transaction_not_found`, `balance_limit_exceeded`, and those of `createOnce`
 */
export async function addTransactionEvent(
  books: Books,
  reading: Reading,
  caller: AuditedCall,
  { transactionId, status, reasonCode }: AddTransactionEventInput,
  options: RequestOptions,
): Promise<Created<Transaction>> {
  const { workspaceId } = caller;
  const { database } = books;
  const payout = await database.read({ workspaces: [workspaceId] }, bind(FIND_PAYOUT, workspaceId, transactionId));
  if (!payout) throw new Refusal('transaction_not_found');

  const content = { status, ...(reasonCode !== undefined && { reasonCode }) };
  const event = { ...content, message: sandboxMessage(status, reasonCode), providerEvent: `asked-${randomUUID()}` };
  const prepared = await prepareRailEvents(books, [{ workspaceId, transactionId, event }]);
  const request = { workspaceId, operation: `addTransactionEvent/${transactionId}`, content };
  return createOnce(reading, request, options, caller, async (tx) => {
    const { effects, posted, settlements } = await decideRailEvents(tx, prepared);
    if (effects[0] instanceof Error) throw effects[0];
    const resource = transactionQuery(workspaceId, transactionId);
    const writes = [...postReturns(posted), ...settlePayments(settlements, undefined)];
    return { writes, audited: { type: 'transaction', id: transactionId }, resource };
  });
}

/** Returns no row if the clock would move back, or beyond the latest time of an order. */
const MOVE_CLOCK = sqlStatement<{ resource: SandboxClock }>(
  'move_clock',
  `with moved as (
     insert into sandbox_clock as c (workspace_id, now, moved_by)
     select $1::bigint, $2::timestamptz, $3::bigint
     where $2::timestamptz between statement_timestamp() and statement_timestamp() + interval '100 years'
     on conflict (workspace_id) do update
       set now = excluded.now, moved_by = excluded.moved_by, moved_at = statement_timestamp() where c.now <= excluded.now
     returning json_build_object('now', rfc3339(now)) as resource),
   noted as (insert into audit_outbox (workspace_id, entries) select $1::bigint, $4::jsonb from moved)
   select resource from moved`,
);

/**
 * Makes runs due that are due by the clock, under the lock of the clock's row. A concurrently placed order may be missed until the clock
 * is set again, even to the same time. Skips locked rows: waiting for a session that locks in another order could deadlock.
 *
 * They are due a microsecond apart and in the past, because workers claim what was due first.
 */
const MAKE_RUNS_DUE = sqlStatement(
  'make_runs_due',
  `with next as (
     select w.workspace_id, w.kind, w.subject_id, w.due_at
     from sandbox_clock c join work w on w.workspace_id = c.workspace_id
     where c.workspace_id = $1 and w.kind = '${EXECUTION}'
       and w.due_at > statement_timestamp() and w.due_at <= c.now and w.parked_at is null
     for update of w skip locked
   ), placed as (
     select n.*, row_number() over (order by n.due_at desc, n.subject_id desc) as place from next n
   )
   update work w set due_at = statement_timestamp() - n.place * interval '1 us'
   from placed n
   where (w.workspace_id, w.kind, w.subject_id) = (n.workspace_id, n.kind, n.subject_id)`,
);

/** @throws Refusal `timestamp_invalid`, `clock_invalid` */
export async function moveClock(database: Database, caller: AuditedCall, { now }: ClockChange): Promise<SandboxClock> {
  if (!isInstant(now)) throw new Refusal('timestamp_invalid');
  const { workspaceId, actor } = caller;
  const scope = { workspaces: [workspaceId], user: actor };
  const [[moved]] = await database.write(scope, [
    bind(MOVE_CLOCK, workspaceId, now, actor ?? null, entriesOf(caller, { operation: 'moveClock' })),
    bind(MAKE_RUNS_DUE, workspaceId),
  ] as const);
  if (!moved) throw new Refusal('clock_invalid');
  return moved.resource;
}
