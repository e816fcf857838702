import type { TransferAmount } from '../amount.js';
import type { CurrencyCode } from '../currencies.js';
import type { DepositId } from '../ids.js';
import type { Open } from '../open.js';
import type { DepositStatus } from '../states.js';
import type { Timestamp } from '../timestamp.js';
import type { Account } from './account.js';
import type { Transaction } from './transaction.js';

/** Money that arrived at a bank account of the service, for an account of the workspace. */
export interface Deposit {
  readonly id: DepositId;
  /** In minor units of the account's currency. */
  readonly amount: TransferAmount;
  readonly status: Open<DepositStatus>;
  /** What the payer wrote: a structured creditor reference, or else text. */
  readonly reference?: string;
  /** What the bank said of the payer. */
  readonly payer: DepositPayer;
  /** The day from which the bank counts the money, ISO 8601. */
  readonly valueDate?: string;
  readonly createdAt: Timestamp;
  readonly updatedAt: Timestamp;
  readonly edges: {
    readonly account: Account;
    /** The transaction that credited the account. Missing while nothing is credited. */
    readonly transaction?: Transaction;
  };
}

export interface DepositPayer {
  readonly name?: string;
  /** An IBAN, or the number as the bank writes it. */
  readonly account?: string;
  /** A BIC, or the name of the bank. */
  readonly bank?: string;
}

/** What a payer writes so that money arrives on an account: the details of one bank account, and the reference of the account. */
export interface ReceivingDetails {
  /** Who holds the bank account. */
  readonly holder: string;
  readonly iban?: string;
  /** The number as the bank writes it, where it has no IBAN. */
  readonly accountNumber?: string;
  readonly bic: string;
  readonly currency: Open<CurrencyCode>;
  /** The code of the account. */
  readonly reference: string;
}
