import type { AccountId, PlainNumber, ProductId } from './ids.js';
import type { PageQuery } from './lists.js';
import type { AccountStatus } from './states.js';

/** Input of `openAccount`. */
export interface OpenAccountInput {
  readonly productID: ProductId | PlainNumber;
  /** The owner's name of the account: 1 to 140 characters of free text (`isFreeText`). */
  readonly alias?: string | undefined;
}

/** Input of `changeAccount`. Omitted fields stay. */
export interface AccountChange {
  readonly accountId: AccountId | PlainNumber;
  readonly alias?: string | undefined;
  /** A disabled account pays nothing and accepts only returned money. */
  readonly status?: AccountStatus | undefined;
}

/** A period of an account: two instants (RFC 3339 with an offset) for booking time, or two days (`YYYY-MM-DD`) for value date. */
export interface StatementQuery extends PageQuery {
  readonly accountId: AccountId | PlainNumber;
  /** Inclusive. */
  readonly from: string;
  /** Exclusive, of the same kind, not before `from`. */
  readonly to: string;
}
