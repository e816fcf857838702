import { createHash } from 'node:crypto';
import { Refusal, type RefusalReason } from '@banking/domain';
import { canonicalTransaction, type TransactionContent } from '@banking/domain/proof';
import type { Entry, Leg, Outcome, OwnAccountKind, PostedTransaction, PostedTransfer, Proposal } from './proposal.js';

/** A customer's account as the lock found it, moved along in memory while a batch is decided. */
export interface HeldAccount {
  readonly workspaceId: number;
  readonly id: number;
  readonly currencyId: number;
  readonly status: string;
  readonly floor: bigint;
  balance: bigint;
  version: number;
  /** Hash of the latest transaction, '' before the first. */
  head: string;
}

/** What deciding a batch draws on: accounts under lock, ids reserved beforehand. */
export interface Desk {
  account(workspaceId: number, accountId: number): HeldAccount | undefined;
  ownAccount(workspaceId: number, currencyId: number, kind: OwnAccountKind): number;
  currencyCode(currencyId: number): string;
  takeTransactionId(): number;
  takeTransferId(): number;
}

/** A customer's balance travels as a JSON integer, so it stays a safe one. */
const BALANCE_MAX = BigInt(Number.MAX_SAFE_INTEGER);

/** Asked before each proposal, with the outcomes of those before it: an outcome of its own, or undefined for the books to decide. */
export type Gate = (index: number, before: readonly Outcome[]) => Outcome | undefined;

/**
 * Decides proposals one by one in the order they arrived, each on the balances the ones before it left.
 * A refused proposal leaves the accounts as it found them.
 */
export function decide(desk: Desk, proposals: readonly Proposal[], gate: Gate = () => undefined): Outcome[] {
  const outcomes: Outcome[] = [];
  for (const [index, proposal] of proposals.entries()) {
    outcomes.push(gate(index, outcomes) ?? decideOne(desk, proposal));
  }
  return outcomes;
}

function decideOne(desk: Desk, proposal: Proposal): Outcome {
  const touched = new Map<HeldAccount, Pick<HeldAccount, 'balance' | 'version' | 'head'>>();
  try {
    return { posted: proposal.entries.map((entry) => decideEntry(desk, entry, touched)) };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    for (const [account, before] of touched) Object.assign(account, before);
    return { refused: error };
  }
}

function decideEntry(
  desk: Desk,
  entry: Entry,
  touched: Map<HeldAccount, Pick<HeldAccount, 'balance' | 'version' | 'head'>>,
): PostedTransaction {
  assertBalanced(entry);
  const customers = new Map<number, HeldAccount>();
  const previous = new Map<number, string>();
  const id = desk.takeTransactionId();

  const transfers = entry.legs.map((leg): PostedTransfer => {
    if (typeof leg.account === 'string') {
      return {
        id: desk.takeTransferId(),
        leg,
        accountId: desk.ownAccount(entry.workspaceId, leg.currencyId, leg.account),
      };
    }
    const account = desk.account(entry.workspaceId, leg.account);
    if (!account) throw new Refusal('account_not_found');
    if (account.currencyId !== leg.currencyId) throw new Error(`account ${account.id} does not hold ${leg.currencyId}`);
    if (!touched.has(account)) {
      touched.set(account, { balance: account.balance, version: account.version, head: account.head });
    }
    if (!customers.has(account.id)) {
      customers.set(account.id, account);
      previous.set(account.id, account.head);
    }
    move(account, leg);
    return {
      id: desk.takeTransferId(),
      leg,
      accountId: account.id,
      accountVersion: account.version,
      balanceAfter: account.balance,
    };
  });

  const hash = hashOf(contentOf(desk, entry, id, transfers, previous));
  for (const account of customers.values()) account.head = hash;
  return { workspaceId: entry.workspaceId, id, hash, entry, transfers };
}

/** @throws Refusal `account_disabled`, `insufficient_funds`, `balance_limit_exceeded`, or what the leg says instead */
function move(account: HeldAccount, leg: Leg): void {
  const refuse = (reason: RefusalReason) => leg.refusedAs ?? new Refusal(reason);
  if (account.status !== 'enabled' && leg.type !== 'return') throw refuse('account_disabled');
  const balance = leg.direction === 'credit' ? account.balance + leg.amount : account.balance - leg.amount;
  if (balance < account.floor) throw refuse('insufficient_funds');
  if (balance > BALANCE_MAX) throw refuse('balance_limit_exceeded');
  account.balance = balance;
  account.version += 1;
}

/** An entry that does not balance is a bug of whoever proposed it; the database would refuse it too. */
function assertBalanced(entry: Entry): void {
  const sums = new Map<number, bigint>();
  for (const { amount, currencyId, direction } of entry.legs) {
    if (amount <= 0n) throw new Error(`a leg moves more than nothing: ${amount}`);
    sums.set(currencyId, (sums.get(currencyId) ?? 0n) + (direction === 'credit' ? amount : -amount));
  }
  if (sums.size === 0) throw new Error('a transaction has legs');
  for (const [currencyId, sum] of sums) {
    if (sum !== 0n) throw new Error(`the transaction is out of balance by ${sum} in currency ${currencyId}`);
  }
}

function contentOf(
  desk: Desk,
  entry: Entry,
  id: number,
  transfers: readonly PostedTransfer[],
  previous: ReadonlyMap<number, string>,
): TransactionContent {
  return {
    workspaceId: entry.workspaceId,
    transactionId: id,
    valueDate: entry.valueDate,
    ...(entry.returnOf === undefined ? {} : { returnOf: entry.returnOf }),
    transfers: transfers.map(({ id: transferId, leg, accountId, accountVersion, balanceAfter }) => ({
      id: transferId,
      accountId,
      currencyCode: desk.currencyCode(leg.currencyId),
      direction: leg.direction,
      amount: leg.amount.toString(),
      type: leg.type,
      description: leg.description,
      purpose: leg.purpose,
      feeAmount: leg.feeAmount?.toString(),
      recipientId: leg.recipientId,
      ...(accountVersion === undefined ? {} : { accountVersion, balanceAfter: String(balanceAfter) }),
    })),
    previous: [...previous].map(([accountId, hash]) => ({ accountId, hash })),
  };
}

/** The same canonical text that `transactionHash` of the domain library hashes in a browser, here without waiting. */
export function hashOf(content: TransactionContent): string {
  return createHash('sha256').update(canonicalTransaction(content)).digest('hex');
}
