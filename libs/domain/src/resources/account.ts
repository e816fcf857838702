import type { BalanceAmount } from '../amount.js';
import type { AccountId, BalanceId } from '../ids.js';
import type { Open } from '../open.js';
import type { AccountStatus } from '../states.js';
import type { Timestamp } from '../timestamp.js';
import type { Currency } from './currency.js';
import type { Product } from './product.js';

/** Cash account types of ISO 20022: `CACC` current, `SVGS` savings, and the others of its list. */
export type AccountType = Open<'CACC' | 'SVGS'>;

/** A bank account in one currency. */
export interface Account {
  readonly id: AccountId;
  /** The account holder. */
  readonly name: string;
  readonly status: Open<AccountStatus>;
  readonly type: AccountType;
  /** What its owner calls it. */
  readonly alias?: string;
  /** What another workspace pays to. Always present in our own answers. */
  readonly code?: string;
  readonly createdAt?: Timestamp;
  readonly updatedAt?: Timestamp;
  readonly edges: {
    /** In our own answers the latest snapshot, one element. */
    readonly balances: readonly Balance[];
    readonly currency: Currency;
    readonly product: Product;
  };
}

/** A snapshot of what an account holds, as the latest transfer left it. */
export interface Balance {
  readonly id: BalanceId;
  /** A JSON integer in minor units of the account's currency. */
  readonly amount: BalanceAmount;
  readonly createdAt?: Timestamp;
  readonly updatedAt?: Timestamp;
}
