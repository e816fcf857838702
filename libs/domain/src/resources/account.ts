import type { BalanceAmount } from '../amount.js';
import type { AccountId, BalanceId } from '../ids.js';
import type { Open } from '../open.js';
import type { AccountStatus } from '../states.js';
import type { Timestamp } from '../timestamp.js';
import type { Currency, Product } from './reference.js';

/** Cash account types of ISO 20022: `CACC` current, `SVGS` savings, and the others of its list. */
export type AccountType = Open<'CACC' | 'SVGS'>;

/** A bank account in one currency. */
export interface Account {
  readonly id: AccountId;
  /** The account holder. */
  readonly name: string;
  readonly status: AccountStatus;
  readonly type: AccountType;
  /** The owner's name of the account. */
  readonly alias?: string;
  /** The code that another workspace pays to. Always present in our responses. */
  readonly code?: string;
  readonly createdAt?: Timestamp;
  readonly updatedAt?: Timestamp;
  readonly edges: {
    /** In our responses one element, the latest snapshot. */
    readonly balances: readonly Balance[];
    readonly currency: Currency;
    readonly product: Product;
  };
}

/** The balance of an account after its latest transfer. */
export interface Balance {
  readonly id: BalanceId;
  /** A JSON integer in minor units of the account's currency. */
  readonly amount: BalanceAmount;
  readonly createdAt?: Timestamp;
  readonly updatedAt?: Timestamp;
}
