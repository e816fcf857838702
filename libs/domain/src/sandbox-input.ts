import type { AccountId, PlainNumber, TransactionId } from './ids.js';

/** Input of `fundAccount`: an incoming amount. */
export interface FundAccountInput {
  readonly accountId: AccountId | PlainNumber;
  /** At least 1, in minor units of the account's currency. */
  readonly amount: string;
}

/** Input of `addTransactionEvent`: a status of the network for an international payment. */
export interface AddTransactionEventInput {
  readonly transactionId: TransactionId | PlainNumber;
  /** Payment status of ISO 20022: `ACSP` on its way, `ACCC` credited, `RJCT` rejected. */
  readonly status: 'ACSP' | 'ACCC' | 'RJCT';
  /** The network's reason, such as `AC04`: 1 to 35 letters and digits. */
  readonly reasonCode?: string | undefined;
}

/** Input of `moveClock`: the new time of the workspace clock. */
export interface ClockChange {
  /** RFC 3339 with an offset. */
  readonly now: string;
}
