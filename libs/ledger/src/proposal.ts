import type { MinorUnits, Refusal } from '@banking/domain';

/** The accounts a workspace's books keep for the bank itself, one of each per currency. */
export type OwnAccountKind = 'settlement' | 'fees' | 'fx' | 'interworkspace';

/** One side of a transaction before it is decided: a transfer without its version and balance. */
export interface Leg {
  /** A customer's account by its id, or one of our own by its kind. */
  readonly account: number | OwnAccountKind;
  /** ISO 4217 numeric. On a customer's account it must be the account's own. */
  readonly currencyId: number;
  readonly direction: 'debit' | 'credit';
  /** Minor units, more than zero. */
  readonly amount: MinorUnits;
  readonly type: string;
  readonly description?: string | undefined;
  readonly purpose?: string | undefined;
  /** Said instead of what is wrong with the account: whoever pays learns nothing of the state of somebody else's. */
  readonly refusedAs?: Refusal | undefined;
  /** The fee of the movement, repeated for display; the fee itself is a leg of its own. */
  readonly feeAmount?: MinorUnits | undefined;
  readonly recipientId?: number | undefined;
}

/** One balanced transaction inside one workspace. */
export interface Entry {
  readonly workspaceId: number;
  readonly status: 'pending' | 'completed';
  /** The day it counts, `YYYY-MM-DD`. */
  readonly valueDate: string;
  /** The transaction whose money comes back. Returns post to disabled accounts too. */
  readonly returnOf?: number | undefined;
  readonly legs: readonly Leg[];
}

/** What is posted together or not at all: one entry, one in each workspace that money passes between, or none yet. */
export interface Proposal {
  readonly entries: readonly Entry[];
  /** A customer's account that is locked also where no money moves, so that what is written alongside has its order. */
  readonly holds?: { readonly workspaceId: number; readonly accountId: number } | undefined;
}

/** A leg as it was written. */
export interface PostedTransfer {
  readonly id: number;
  readonly leg: Leg;
  readonly accountId: number;
  /** Only on customers' accounts. */
  readonly accountVersion?: number | undefined;
  readonly balanceAfter?: bigint | undefined;
}

export interface PostedTransaction {
  readonly workspaceId: number;
  readonly id: number;
  readonly hash: string;
  readonly entry: Entry;
  readonly transfers: readonly PostedTransfer[];
}

/**
 * A proposal's own fate: a refusal in a batch is that proposal's alone, and so is what the database rejects when the batch is posted
 * in halves. A `CommitInDoubtError` may have happened. Left out is what a gate has answered, and, where locks are not
 * waited for, what touches an account that somebody else holds: nothing of it was decided.
 */
export type Outcome = {
  [K in keyof Fate]: Pick<Fate, K> & { readonly [Other in Exclude<keyof Fate, K>]?: undefined };
}[keyof Fate];

interface Fate {
  readonly posted: readonly PostedTransaction[];
  readonly refused: Refusal;
  readonly failed: Error;
  readonly leftOut: 'answered' | 'locked';
}
