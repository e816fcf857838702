import { createHash, randomUUID } from 'node:crypto';
import { Refusal, type RefusalReason, type Timestamp } from '@banking/domain';
import { canonicalDescription, canonicalTransaction, type TransactionContent } from '@banking/domain/proof';
import { currencyCode, ownAccountKey, type PreparedPosting } from './books.js';
import { microsecondsOf, timestampAt } from './microseconds.js';
import {
  accountKey,
  customerAccountsOf,
  type Entry,
  type Leg,
  type Outcome,
  type OwnAccountKind,
  type PostedTransaction,
  type PostedTransfer,
  type Proposal,
} from './proposal.js';

/** A customer's balance travels as a JSON integer, so it must stay a safe integer. */
const BALANCE_MAX = BigInt(Number.MAX_SAFE_INTEGER);

type State = Pick<LockedAccount, 'balance' | 'version' | 'head' | 'balanceAt'>;

/**
 * Decides one proposal on the balances that the proposals before it left. Pure but for the accounts of the context.
 *
 * A refusal (`account_not_found`, `account_disabled`, `insufficient_funds`, `balance_limit_exceeded`) leaves the accounts unchanged.
 *
 * @throws Error for a proposal that does not balance
 */
export function decide(context: DecisionContext, proposal: Proposal): Outcome {
  const before = new Map<LockedAccount, State>();
  const at = context.timeOf(proposal);
  try {
    return { posted: proposal.entries.map((entry) => decideEntry(context, entry, at, before)) };
  } catch (error) {
    for (const [account, state] of before) Object.assign(account, state);
    if (!(error instanceof Refusal)) throw error;
    return { refused: error };
  }
}

function decideEntry(
  context: DecisionContext,
  entry: Entry,
  at: Timestamp,
  before: Map<LockedAccount, State>,
): PostedTransaction {
  assertBalanced(entry);
  const customers = new Map<number, LockedAccount>();
  const previous = new Map<number, string>();
  const id = context.takeTransactionId();

  const transfers = entry.legs.map((leg): PostedTransfer => {
    if (typeof leg.account === 'string') {
      return {
        id: context.takeTransferId(),
        leg,
        accountId: context.ownAccountId(entry.workspaceId, leg.currencyId, leg.account),
      };
    }
    const account = context.account(entry.workspaceId, leg.account);
    if (!account) throw new Refusal('account_not_found');
    if (account.currencyId !== leg.currencyId) throw new Error(`account ${account.id} does not hold ${leg.currencyId}`);
    if (!before.has(account)) {
      const { balance, version, head, balanceAt } = account;
      before.set(account, { balance, version, head, balanceAt });
    }
    // The head changes after the last leg, so every leg of an account has the same one.
    customers.set(account.id, account);
    previous.set(account.id, account.head);
    move(account, leg);
    return {
      id: context.takeTransferId(),
      leg,
      descriptionSalt: leg.description === undefined ? undefined : newSalt(),
      accountId: account.id,
      accountVersion: account.version,
      balanceAfter: account.balance,
    };
  });

  const hash = hashOf(contentOf(entry, id, at, transfers, previous));
  for (const account of customers.values()) Object.assign(account, { head: hash, balanceAt: at });
  return { workspaceId: entry.workspaceId, id, at, hash, entry, transfers };
}

function move(account: LockedAccount, leg: Leg): void {
  account.balance = balanceAfter(account, leg);
  account.version += 1;
}

/**
 * The balance of a customer's account after a leg.
 *
 * @throws Refusal `account_disabled`, `insufficient_funds`, `balance_limit_exceeded`, or `refusedAs` of the leg
 */
export function balanceAfter(
  account: Pick<LockedAccount, 'status' | 'balance'>,
  leg: Pick<Leg, 'type' | 'direction' | 'amount' | 'refusedAs'>,
): bigint {
  const refuse = (reason: RefusalReason) => leg.refusedAs?.(reason) ?? new Refusal(reason);
  if (account.status !== 'enabled' && leg.type !== 'return') throw refuse('account_disabled');
  const balance = leg.direction === 'credit' ? account.balance + leg.amount : account.balance - leg.amount;
  if (balance < 0n) throw refuse('insufficient_funds');
  if (balance > BALANCE_MAX) throw refuse('balance_limit_exceeded');
  return balance;
}

/** An unbalanced entry is a programming error, not a refusal. The database would reject it too. */
function assertBalanced(entry: Entry): void {
  const sums = new Map<number, bigint>();
  for (const { amount, currencyId, direction } of entry.legs) {
    if (amount <= 0n) throw new Error(`the amount of a leg must be above zero: ${amount}`);
    sums.set(currencyId, (sums.get(currencyId) ?? 0n) + (direction === 'credit' ? amount : -amount));
  }
  if (sums.size === 0) throw new Error('a transaction must have legs');
  for (const [currencyId, sum] of sums) {
    if (sum !== 0n) throw new Error(`the transaction is out of balance by ${sum} in currency ${currencyId}`);
  }
}

function contentOf(
  entry: Entry,
  id: number,
  createdAt: Timestamp,
  transfers: readonly PostedTransfer[],
  previous: ReadonlyMap<number, string>,
): TransactionContent {
  return {
    workspaceId: entry.workspaceId,
    transactionId: id,
    createdAt,
    returnOf: entry.returnOf,
    orderDigest: entry.orderDigest,
    conversionDigest: entry.conversion?.digest,
    transfers: transfers.map(({ id: transferId, leg, descriptionSalt, accountId, accountVersion, balanceAfter }) => ({
      id: transferId,
      accountId,
      currencyCode: currencyCode(leg.currencyId),
      direction: leg.direction,
      amount: leg.amount.toString(),
      type: leg.type,
      descriptionDigest: descriptionSalt && digestOfDescription(descriptionSalt, leg.description ?? ''),
      purpose: leg.purpose,
      feeAmount: leg.feeAmount?.toString(),
      recipientId: leg.recipientId,
      recipientDigest: leg.recipientDigest,
      ...(accountVersion === undefined ? {} : { accountVersion, balanceAfter: String(balanceAfter) }),
    })),
    previous: [...previous].map(([accountId, hash]) => ({ accountId, hash })),
  };
}

/** A customer's account as the lock returned it. `decide` updates it for the next proposal of the batch. */
export interface LockedAccount {
  readonly workspaceId: number;
  readonly id: number;
  readonly currencyId: number;
  readonly status: string;
  balance: bigint;
  version: number;
  /** Hash of the latest transaction, '' before the first. */
  head: string;
  /** When its balance was reached. Nothing is booked on it before that. */
  balanceAt: Timestamp;
}

/** The input of `decide`: locked accounts, reserved ids and a time. Make a new one for each attempt of a database transaction. */
export class DecisionContext {
  /** The customers' accounts by `accountKey`. */
  readonly lockedAccounts: ReadonlyMap<string, LockedAccount>;
  private readonly ownAccounts: ReadonlyMap<string, number>;
  private readonly transactionIds: Iterator<number>;
  private readonly transferIds: Iterator<number>;

  constructor(
    { ownAccounts, transactionIds, transferIds }: Omit<PreparedPosting, 'proposals' | 'workspaces'>,
    lockedAccounts: readonly LockedAccount[],
    /** The time of the database after the locks, or at most a second before them, in UTC with microseconds. */
    readonly at: Timestamp,
  ) {
    this.lockedAccounts = new Map(
      lockedAccounts.map((account) => [accountKey(account.workspaceId, account.id), account]),
    );
    this.ownAccounts = ownAccounts;
    this.transactionIds = transactionIds.values();
    this.transferIds = transferIds.values();
  }

  /**
   * When a proposal is booked, all its entries at once: now, or a microsecond after the latest time of its accounts if that is ahead.
   *
   * The clock of a database server may be set back, so the times of an account would run backwards. A microsecond, so that very many
   * movements do not have one time meanwhile.
   */
  timeOf({ entries }: Proposal): Timestamp {
    const times = customerAccountsOf({ entries }).map(
      ({ workspaceId, accountId }) => this.account(workspaceId, accountId)?.balanceAt ?? this.at,
    );
    const latest = times.reduce((one, other) => (other > one ? other : one), this.at);
    return latest > this.at ? timestampAt(microsecondsOf(latest) + 1) : this.at;
  }

  /** Whether the batch has locked all customers' accounts of a proposal. A missing account is not locked. */
  hasLocked(proposal: Proposal): boolean {
    return customerAccountsOf(proposal).every(({ workspaceId, accountId }) => this.account(workspaceId, accountId));
  }

  account(workspaceId: number, accountId: number): LockedAccount | undefined {
    return this.lockedAccounts.get(accountKey(workspaceId, accountId));
  }

  ownAccountId(workspaceId: number, currencyId: number, kind: OwnAccountKind): number {
    const id = this.ownAccounts.get(ownAccountKey(workspaceId, currencyId, kind));
    if (id === undefined) throw new Error(`the own account ${kind} is not open`);
    return id;
  }

  takeTransactionId(): number {
    return take(this.transactionIds);
  }

  takeTransferId(): number {
    return take(this.transferIds);
  }
}

function take(ids: Iterator<number>): number {
  const { value, done } = ids.next();
  if (done === true) throw new Error('the batch has used all its reserved ids');
  return value;
}

/** The digest of the description of a transfer. */
export const digestOfDescription = (salt: string, description: string): string =>
  digestNow(canonicalDescription({ salt, description }));

/** The salt of a digest of personal texts: a random UUID, which Node draws from a pool. */
export const newSalt = (): string => randomUUID().replaceAll('-', '');

/** SHA-256 of a text, as `digestOf` of the domain library, which is asynchronous in browsers. */
export function digestNow(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** Undefined for stored content without a canonical form. A verifier reports it, and goes on with the others. */
export function digestOrNone(digest: () => string): string | undefined {
  try {
    return digest();
  } catch (error) {
    if (error instanceof Error && error.name === 'NoCanonicalForm') return undefined;
    throw error;
  }
}

/** The hash of a transaction, as `transactionHash` of the domain library. */
export function hashOf(content: TransactionContent): string {
  return digestNow(canonicalTransaction(content));
}
