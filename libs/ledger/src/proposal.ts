import type { MinorUnits, Refusal, RefusalReason, Timestamp } from '@banking/domain';

/** The accounts a workspace's books keep for the bank itself, one of each per currency. */
export type OwnAccountKind = 'settlement' | 'fees' | 'fx' | 'interworkspace';

interface Moved {
  /** ISO 4217 numeric. On a customer's account it must be the account's own. */
  readonly currencyId: number;
  readonly direction: 'debit' | 'credit';
  /** Minor units, more than zero. */
  readonly amount: MinorUnits;
  readonly type: string;
}

interface CustomerLeg extends Moved {
  /** By its id. */
  readonly account: number;
  readonly description?: string | undefined;
  readonly purpose?: string | undefined;
  /** Replaces the refusal of this leg: it is the payee's, and a payer learns nothing of the state of an account of others. */
  readonly refusedAs?: ((reason: RefusalReason) => Refusal) | undefined;
  /** The fee of the movement, repeated for display; the fee itself is a leg of its own. */
  readonly feeAmount?: MinorUnits | undefined;
  readonly recipientId?: number | undefined;
  /** The digest of the recipient's details. Each leg with a recipient has one. */
  readonly recipientDigest?: string | undefined;
}

/** What it is for stands with the leg of the customer. */
interface OwnLeg extends Moved, Partial<Record<Exclude<keyof CustomerLeg, keyof Moved | 'account'>, undefined>> {
  readonly account: OwnAccountKind;
}

/** One side of a transaction before it is decided: a transfer without its version and balance. */
export type Leg = CustomerLeg | OwnLeg;

/** How a payment converts. Amounts in minor units; digits are text. */
export interface Conversion {
  /** Of all the other fields. */
  readonly digest: string;
  readonly quoteId?: number | undefined;
  readonly currencyId: number;
  readonly amount: string;
  readonly targetCurrencyId: number;
  readonly targetAmount: string;
  readonly rate: string;
  readonly rateSource: string;
  readonly rateAsOf: Timestamp;
  readonly rounding: 'down';
  readonly remainderNumerator: string;
  readonly remainderDenominator: string;
  /** The side that the caller fixed. The remainder may exceed a minor unit if that is the target. */
  readonly fixedSide: 'source' | 'target';
}

/** What a payment counts in a currency of limits. */
export interface ConvertedAmount {
  readonly currencyId: number;
  /** Whole units of the currency for one of the account's. */
  readonly rate: string;
  /** In minor units, rounded up. */
  readonly amount: MinorUnits;
}

/** One balanced transaction inside one workspace. */
export interface Entry {
  readonly workspaceId: number;
  readonly status: 'pending' | 'completed';
  /** The transaction whose money comes back. Returns post to disabled accounts too. */
  readonly returnOf?: number | undefined;
  /** The digest of the order that it carries out. */
  readonly orderDigest?: string | undefined;
  readonly conversion?: Conversion | undefined;
  /** Whether another system has submitted the payout: no worker does. In a sandbox only. */
  readonly isSubmitted?: boolean | undefined;
  /** The payment network of a payout. The database refuses a payout without one. */
  readonly rail?: string | undefined;
  /** The document that stated the terms of the corridor of a payout: a row of `reference_change`. */
  readonly termsChangeId?: number | undefined;
  /** In the currencies of limits that it neither leaves in nor arrives in. */
  readonly convertedAmounts?: readonly ConvertedAmount[] | undefined;
  readonly legs: readonly Leg[];
}

/** One unit of decision: one entry, an entry in each of two workspaces, or no entry yet. All of it is posted or nothing. */
export interface Proposal {
  readonly entries: readonly Entry[];
  /** A customer's account that is locked even if the proposal moves no money. The lock orders the caller's other writes. */
  readonly accountToLock?: AccountRef | undefined;
}

/** A customer's account. */
export interface AccountRef {
  readonly workspaceId: number;
  readonly accountId: number;
}

export const accountKey = (workspaceId: number, accountId: number): string => `${workspaceId}/${accountId}`;

/** The customers' accounts that a proposal locks, with repetitions. */
export function customerAccountsOf({ entries, accountToLock }: Proposal): AccountRef[] {
  const moved = entries.flatMap(({ workspaceId, legs }) =>
    legs.flatMap(({ account }) => (typeof account === 'number' ? [{ workspaceId, accountId: account }] : [])),
  );
  return accountToLock ? [accountToLock, ...moved] : moved;
}

/** A leg as it was written. */
export interface PostedTransfer {
  readonly id: number;
  readonly leg: Leg;
  /** Of the digest of its description; see `newSalt`. */
  readonly descriptionSalt?: string | undefined;
  readonly accountId: number;
  /** Only on customers' accounts. */
  readonly accountVersion?: number | undefined;
  readonly balanceAfter?: bigint | undefined;
}

export interface PostedTransaction {
  readonly workspaceId: number;
  readonly id: number;
  /** When it is written, in the text of PostgreSQL. */
  readonly at: string;
  readonly hash: string;
  readonly entry: Entry;
  readonly transfers: readonly PostedTransfer[];
}

/** The decision on a proposal: its transactions, or the reason of its refusal. */
export type Outcome =
  | { readonly posted: readonly PostedTransaction[]; readonly refused?: undefined }
  | { readonly refused: Refusal; readonly posted?: undefined };

/** @throws Refusal that the proposal was refused with */
export function requirePosted({ posted, refused }: Outcome): readonly PostedTransaction[] {
  if (refused) throw refused;
  return posted;
}
