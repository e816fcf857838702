import type { ExecutedTransfer } from './executed-transfer.js';
import type { OrderId, RemittanceEventId, RemittanceId, TransactionId } from '../ids.js';
import type { Open } from '../open.js';
import type { TransactionStatus } from '../states.js';
import type { Timestamp } from '../timestamp.js';

export type { ExecutedTransfer, TransferDirection, TransferType } from './executed-transfer.js';

/** One side of a transaction: money moving into or out of one account. */
export interface Transfer extends Omit<ExecutedTransfer, 'edges'> {
  readonly edges: ExecutedTransfer['edges'] & {
    readonly transaction?: Transaction;
  };
}

/** One balanced journal entry of the books. It executes transfers. */
export interface Transaction {
  readonly id: TransactionId;
  readonly status: TransactionStatus;
  /** SHA-256 in hex. See transaction-hash.ts for its content and its chain. */
  readonly hash?: string;
  /** Ours: the order that it executes. A return has none: follow `returnOf`. */
  readonly orderID?: OrderId;
  /** Ours: the transaction that it reverses, a payment or a return. */
  readonly returnOf?: TransactionId;
  /** Ours: the return that reverses it. */
  readonly returnedBy?: TransactionId;
  readonly createdAt?: Timestamp;
  readonly updatedAt?: Timestamp;
  readonly edges: {
    /** Present if the money leaves for another institution. */
    readonly internationalRemittance?: InternationalRemittance;
    /** The transfers on customer accounts. */
    readonly transfers?: readonly ExecutedTransfer[];
  };
}

/** An international payment and its tracking. Its id is that of its transaction. */
export interface InternationalRemittance {
  readonly id: RemittanceId;
  readonly createdAt?: Timestamp;
  readonly updatedAt?: Timestamp;
  readonly edges: {
    readonly events?: readonly RemittanceEvent[];
  };
}

/** One status event of the payment provider for a remittance. */
export interface RemittanceEvent {
  readonly id: RemittanceEventId;
  /** Payment status of ISO 20022: `ACSP` on its way, `ACCC` credited, `RJCT` rejected; others may come. */
  readonly status: Open<'ACSP' | 'ACCC' | 'RJCT'>;
  /** The message of the provider, unchanged. */
  readonly message?: string;
  /** Ours: the reason code of the provider, unchanged, such as `G000` or `AC04`. */
  readonly reasonCode?: string;
  readonly createdAt?: Timestamp;
  readonly lastUpdatedAt?: Timestamp;
}
