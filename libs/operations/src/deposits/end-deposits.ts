import {
  type AccountId,
  type DepositStatus,
  parseId,
  type PayoutStatus,
  type Timestamp,
  type TransferDirection,
  type WorkspaceId,
} from '@banking/domain';
import {
  type Books,
  currencyCode,
  decide,
  lockAndRead,
  posting,
  postingValues,
  preparePosting,
  type Proposal,
  requirePosted,
  returnEntry,
} from '@banking/ledger';
import { byOutgoing, findPayouts, findPositions, nameOfOutgoing, parsePayoutKey, servedHere } from '@banking/payouts';
import { bind, type Database, scopesOf, sqlStatement } from '@banking/postgres';
import { noteOperatorChanges } from '../provisioning/audit.js';
import { findAccount } from '../provisioning/operator-actions.js';
import { depositProposal } from './book-deposits.js';
import { normalCode } from './match-entry.js';

/** A deposit, for operators. */
export interface DepositRow {
  readonly workspaceId: number;
  readonly id: number;
  readonly status: DepositStatus;
  readonly accountId: number;
  /** Digits, in minor units. */
  readonly amount: string;
  readonly currencyCode: string;
  readonly payer: { readonly name?: string; readonly account?: string; readonly bank?: string };
  readonly reference?: string;
  readonly valueDate?: string;
  readonly entryId: number;
  readonly transactionId?: number;
  readonly note?: string;
  readonly createdAt: Timestamp;
}

/** A payment that an entry names. */
interface WaitingPayment {
  /** That of the payout. */
  readonly key: string;
  /** Left out, as the next one, if this database has no such payout. */
  readonly status?: PayoutStatus;
  /** Whether the customer has the whole amount again. */
  readonly isReturned?: boolean;
}

/**
 * A credit of a bank account that is in no books: no account takes it, the worker has not come to it, or it returns money of a payment
 * otherwise than that left. Or a debit: a reversal, or one that names a payment and is not that which the books have.
 */
export interface WaitingEntry {
  readonly entryId: number;
  readonly rail: string;
  readonly bankAccount: string;
  readonly direction: TransferDirection;
  readonly amount: string;
  readonly currencyCode: string;
  readonly payer: DepositRow['payer'];
  readonly reference?: string;
  readonly valueDate?: string;
  readonly isReversal: boolean;
  /** Whether it returns money that left. It is no deposit then. */
  readonly isReturn: boolean;
  readonly payment?: WaitingPayment;
  readonly receivedAt: Timestamp;
}

const LISTED_MAX = 100;

const LIST_DEPOSITS = sqlStatement<{ deposit: DepositRow }>(
  'list_deposits_of_operator',
  `select json_strip_nulls(json_build_object('workspaceId', d.workspace_id, 'id', d.id, 'status', d.status, 'accountId', d.account_id,
     'amount', d.amount::text, 'currencyCode', c.code, 'payer', d.payer, 'reference', d.reference, 'valueDate', d.value_on,
     'entryId', d.entry_id, 'transactionId', d.transaction_id, 'note', d.note, 'createdAt', rfc3339(d.created_at))) as deposit
   from deposit d join currency c on c.id = d.currency_id
   where d.workspace_id = any($1::bigint[]) and ($2::text is null or d.status = $2::text)
   order by d.created_at desc, d.id desc limit $3`,
);

/** The newest deposits of these workspaces, at most 100. */
export async function newestDeposits(
  database: Database,
  workspaceIds: readonly number[],
  status?: DepositStatus,
): Promise<DepositRow[]> {
  const found: DepositRow[] = [];
  for (const workspaces of scopesOf(workspaceIds)) {
    const query = bind(LIST_DEPOSITS, workspaces, status ?? null, LISTED_MAX);
    const [rows] = await database.pipeline({ workspaces }, [query] as const);
    found.push(...rows.map(({ deposit }) => deposit));
  }
  return found.sort((a, b) => (a.createdAt < b.createdAt ? 1 : -1)).slice(0, LISTED_MAX);
}

/** Returns are the credits that `hold_credit_entries` leaves out. */
const LIST_WAITING = sqlStatement<{ entry: WaitingEntry }>(
  'list_waiting_entries',
  `select json_strip_nulls(json_build_object('entryId', e.id, 'rail', e.rail, 'bankAccount', e.bank_account, 'direction', e.direction,
     'amount', e.amount::text, 'currencyCode', e.currency, 'payer', e.party, 'reference', reference_of_entry(e.creditor_reference, e.remittance),
     'valueDate', e.value_on, 'isReversal', e.is_reversal,
     'isReturn', e.direction = 'credit' and (e.is_reversal or e.return_reason is not null or p.key is not null),
     'payment', case when p.key is not null then json_build_object('key', p.key) end, 'receivedAt', rfc3339(e.received_at))) as entry
   from bank_entry e left join file_payment p on p.end_to_end_id = e.end_to_end_id
   where e.outcome is null and e.status = 'booked' and (e.direction = 'credit' or e.is_reversal or p.key is not null)
   order by e.id limit $1`,
);

/** Money that arrived or came back, reversals of it, and debits of payments, which the books do not have. The oldest first, at most 100. */
export async function waitingEntries(
  database: Database,
): Promise<{ readonly entries: readonly WaitingEntry[]; readonly hasMore: boolean }> {
  const [rows] = await database.pipeline({}, [bind(LIST_WAITING, LISTED_MAX + 1)] as const);
  const payments = await findPayments(
    database,
    rows.flatMap(({ entry: { payment } }) => payment ?? []),
  );
  const entries = rows.slice(0, LISTED_MAX).map(({ entry: { payment, ...entry } }): WaitingEntry => {
    return { ...entry, ...(payment && { payment: { ...payment, ...payments.get(payment.key) } }) };
  });
  return { entries, hasMore: rows.length > LISTED_MAX };
}

/** What the books have of payments, by the keys of their payouts. */
async function findPayments(
  database: Database,
  keyed: readonly { readonly key: string }[],
): Promise<ReadonlyMap<string, Omit<WaitingPayment, 'key'>>> {
  const named = (await servedHere(database, keyed)).flatMap(({ key }) => parsePayoutKey(key) ?? []);
  const payouts = [...(await findPayouts(database, named)).values()];
  const workspaces = [...new Set(payouts.map(({ workspaceId }) => workspaceId))];
  const [rows] = await database.pipeline({ workspaces }, [findPositions(payouts)] as const);
  const positions = byOutgoing(rows);
  return new Map(
    payouts.map((payout) => {
      const isReturned = positions.get(nameOfOutgoing(payout))?.isBack === true;
      return [payout.key, { status: payout.status, isReturned }];
    }),
  );
}

interface FoundDeposit {
  readonly status: DepositStatus;
  readonly account_id: bigint;
  readonly currency_id: number;
  readonly amount: bigint;
  readonly reference: string | null;
  readonly assigned_from: bigint | null;
  readonly transaction_id: bigint | null;
}

const FIND_DEPOSIT = sqlStatement<FoundDeposit>(
  'find_deposit_of_operator',
  'select status, account_id, currency_id, amount, reference, assigned_from, transaction_id from deposit where workspace_id = $1 and id = $2',
);

const FIND_BY_CODE = sqlStatement<{ workspace_id: bigint; account_id: bigint; currency: string }>(
  'find_account_of_assignment',
  `select o.workspace_id, o.account_id, c.code as currency from account_code o join currency c on c.id = o.currency_id where o.code = $1`,
);

const RETURN_DEPOSIT = posting('return_deposit', '$3::bigint', '$4::bigint', '$5::text');

const ASSIGN_DEPOSIT = sqlStatement<{ id: bigint }>(
  'assign_deposit',
  `select assign_deposit($1::posted_transaction[], $2::posted_transfer[], $3::bigint, $4::bigint, $5::text) as id`,
);

/** A deposit that an operator ends. */
export interface EndingDeposit {
  readonly workspaceId: WorkspaceId;
  readonly depositId: number;
  /** The reason, stored with the deposit. */
  readonly note: string;
}

/**
 * Takes the money of a deposit from its account, because the operator sends it back at the bank. Of a pending deposit nothing was
 * credited, and none is taken.
 *
 * @returns the return, which a pending deposit has none of; or why it is not returned
 * @throws Refusal `insufficient_funds` where the account does not have the money any more; nothing was written
 */
export async function returnDeposit(
  books: Books,
  { workspaceId, depositId, note }: EndingDeposit,
): Promise<'not_found' | 'ended' | { readonly transactionId: number | undefined }> {
  const found = await findDeposit(books.database, workspaceId, depositId);
  if (!found) return 'not_found';
  if (!['pending', 'booked', 'unmatched'].includes(found.status)) return 'ended';
  const prepared = await preparePosting(books, [await takingBack(books.database, workspaceId, found)]);
  return books.database.transaction({ workspaces: [workspaceId], actorType: 'operator' }, async (tx) => {
    const { context, rows } = await lockAndRead(tx, prepared, [bind(FIND_DEPOSIT, workspaceId, depositId)] as const);
    // The lock of the account orders all that happens to its deposits.
    if (rows[0][0]?.status !== found.status) return 'ended';
    const posted = prepared.proposals.flatMap((proposal) => requirePosted(decide(context, proposal)));
    await tx.commit([
      bind(RETURN_DEPOSIT, ...postingValues(posted), workspaceId, depositId, note),
      noteOperatorChanges([{ workspaceId, operation: 'returnDeposit', resource: { type: 'deposit', id: depositId } }]),
    ]);
    return { transactionId: posted[0]?.id };
  });
}

/** A deposit in the workspace of the account that it was meant for. */
export interface AssignedDeposit {
  readonly workspaceId: number;
  readonly depositId: number;
  readonly accountId: number;
}

/**
 * Gives a deposit that is unmatched, or was assigned to the wrong account, to an account of any workspace: the money is taken from its
 * account, and enters the other one as a deposit of its own.
 *
 * @param account the id or the code of the account
 * @returns the new deposit, or why there is none
 * @throws Refusal `insufficient_funds` where its account does not have the money any more; `account_disabled`, `balance_limit_exceeded`
 *   of the other account. Nothing was written
 */
export async function assignDeposit(
  books: Books,
  { workspaceId, depositId, note, account }: EndingDeposit & { readonly account: string },
): Promise<'not_found' | 'not_assignable' | 'account_not_found' | 'wrong_currency' | AssignedDeposit> {
  const { database } = books;
  const found = await findDeposit(database, workspaceId, depositId);
  if (!found) return 'not_found';
  if (!isAssignable(found)) return 'not_assignable';
  const target = await findTarget(database, account);
  if (!target) return 'account_not_found';
  if (target.currency !== currencyCode(found.currency_id)) return 'wrong_currency';
  const { currency: _, ...to } = target;
  const { currency_id: currencyId, amount, reference } = found;
  const prepared = await preparePosting(books, [
    await takingBack(database, workspaceId, found),
    depositProposal({ ...to, currencyId, amount, reference }),
  ]);
  return database.transaction({ workspaces: prepared.workspaces, actorType: 'operator' }, async (tx) => {
    const { context, rows } = await lockAndRead(tx, prepared, [bind(FIND_DEPOSIT, workspaceId, depositId)] as const);
    if (rows[0][0]?.status !== found.status) return 'not_assignable';
    const posted = prepared.proposals.flatMap((proposal) => requirePosted(decide(context, proposal)));
    const [[assigned]] = await tx.pipeline([
      bind(ASSIGN_DEPOSIT, ...postingValues(posted), workspaceId, depositId, note),
    ] as const);
    const newId = Number(assigned!.id);
    const operation = 'assignDeposit';
    const entryOf = (of: number, id: number) => ({ workspaceId: of, operation, resource: { type: 'deposit', id } });
    // One in each trail.
    const changes = [entryOf(workspaceId, depositId)];
    if (to.workspaceId !== workspaceId) changes.push(entryOf(to.workspaceId, newId));
    await tx.commit([noteOperatorChanges(changes)]);
    return { ...to, depositId: newId };
  });
}

const isAssignable = ({ status, assigned_from }: FoundDeposit): boolean =>
  status === 'unmatched' || (status === 'booked' && assigned_from !== null);

/** An account by its code, or by its id. */
export async function findTarget(
  database: Database,
  name: string,
): Promise<{ readonly workspaceId: number; readonly accountId: number; readonly currency: string } | undefined> {
  const named = await database.read({}, bind(FIND_BY_CODE, normalCode(name)));
  if (named) {
    const { workspace_id: workspaceId, account_id: accountId, currency } = named;
    return { workspaceId: Number(workspaceId), accountId: Number(accountId), currency };
  }
  const accountId = parseId<AccountId>(name);
  const found = accountId === undefined ? undefined : await findAccount(database, accountId);
  return found && accountId !== undefined
    ? { workspaceId: found.workspaceId, accountId, currency: found.currency }
    : undefined;
}

const findDeposit = (database: Database, workspaceId: number, depositId: number): Promise<FoundDeposit | undefined> =>
  database.read({ workspaces: [workspaceId] }, bind(FIND_DEPOSIT, workspaceId, depositId));

/** The return of a deposit's transaction, or the lock of its account only. */
async function takingBack(database: Database, workspaceId: number, deposit: FoundDeposit): Promise<Proposal> {
  const { transaction_id: transactionId, account_id: accountId } = deposit;
  if (transactionId === null) return { entries: [], accountToLock: { workspaceId, accountId: Number(accountId) } };
  return { entries: [await returnEntry(database, workspaceId, Number(transactionId))] };
}
