import type { AccountId, ProductId } from './ids.js';
import type { AccountStatus } from './states.js';

/** An account to be opened. */
export interface AccountWish {
  readonly productID: ProductId;
  /** What its owner calls it: 1 to 140 characters of free text (`isFreeText`). */
  readonly alias?: string | undefined;
}

/** What is to change of an account. */
export interface AccountChange {
  readonly accountId: AccountId;
  readonly alias?: string | undefined;
  /** A disabled account pays nothing and takes nothing but money that comes back. */
  readonly status?: AccountStatus | undefined;
}

/** How many movements a page of a statement holds at most, and when no limit is given. */
export const STATEMENT_LIMIT_MAX = 10_000;

/** A period of an account: between two instants (RFC 3339 with an offset) by booking, between two days (`YYYY-MM-DD`) by value date. */
export interface StatementQuery {
  readonly accountId: AccountId;
  /** Inclusive. */
  readonly from: string;
  /** Exclusive, of the same kind, not before `from`. */
  readonly to: string;
  /** How many movements the page holds at most: 1 to {@link STATEMENT_LIMIT_MAX}, which is also the default. */
  readonly limit?: number | undefined;
  /** Where the page before ended: its `next`, with the same account, period and workspace. */
  readonly cursor?: string | undefined;
}
