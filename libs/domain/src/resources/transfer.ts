import type { ExecutedTransfer } from './executed-transfer.js';
import type { Transaction } from './transaction.js';

export type { ExecutedTransfer, TransferDirection, TransferType } from './executed-transfer.js';

/** One side of a transaction: money moving into or out of one account. */
export interface Transfer extends Omit<ExecutedTransfer, 'edges'> {
  readonly edges: ExecutedTransfer['edges'] & {
    readonly transaction?: Transaction;
  };
}
