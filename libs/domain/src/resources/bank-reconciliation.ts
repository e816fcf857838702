import type { TransferAmount } from '../amount.js';
import type { Open } from '../open.js';
import type { Timestamp } from '../timestamp.js';
import type { Currency } from './reference.js';
import type { TransferDirection } from './transaction.js';

/** How the statements of a bank account of the deployment compare with the books. */
export interface BankReconciliation {
  /** The payment network whose bank has the account. */
  readonly rail: string;
  /** The IBAN, or the number of the bank. */
  readonly bankAccount: string;
  readonly comparedAt: Timestamp;
  /** The days of the first and of the last statement, `YYYY-MM-DD`. Left out before the first statement. */
  readonly from?: string;
  readonly to?: string;
  /** In minor units of `edges.currency`, with `-` for an overdraft: of the first statement, and of the last. */
  readonly openingBalance?: string;
  readonly closingBalance?: string;
  /** What the booked entries that the books do not have, or contradict, sum to: credits less debits, as the balances. */
  readonly unknownAmount: string;
  /** Also of those that are not listed. At most 1,000 of a kind are counted. */
  readonly differenceCount: number;
  /** The first hundred, by day. */
  readonly differences: readonly BankDifference[];
  readonly edges: { readonly currency: Currency };
}

/**
 * What does not agree. `statement_missing`: a statement does not continue the one before it. `statement_sum`: its entries do not add up to
 * its balances. `statement_late`: the last statement is old. `entry_unknown`: the books do not have a booked entry. `entry_pending`: an entry
 * is not booked for long. `entry_unlisted`: a booked entry is on no statement. `payment_missing`: a payment that was handed to the bank has
 * no entry. `payment_debited`: the bank has debited a payment that the books have returned. `payment_returned`: the bank has returned a
 * payment that the books have not.
 */
export type BankDifferenceKind =
  | 'statement_missing'
  | 'statement_sum'
  | 'statement_late'
  | 'entry_unknown'
  | 'entry_pending'
  | 'entry_unlisted'
  | 'payment_missing'
  | 'payment_debited'
  | 'payment_returned';

/** A difference between a bank account and the books. */
export interface BankDifference {
  readonly kind: Open<BankDifferenceKind>;
  /** `YYYY-MM-DD`. */
  readonly day: string;
  /** Of an entry or a payment, or by how much the balances differ: in minor units. */
  readonly amount?: TransferAmount;
  readonly direction?: TransferDirection;
  /** The reference of the bank, the name of the statement, or the key of the payment. */
  readonly reference?: string;
}
