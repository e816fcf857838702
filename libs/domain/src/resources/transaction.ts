import type { OrderId, RemittanceEventId, RemittanceId, TransactionId } from '../ids.js';
import type { Open } from '../open.js';
import type { TransactionStatus } from '../states.js';
import type { Timestamp } from '../timestamp.js';
import type { ExecutedTransfer } from './transfer.js';

/** What executes transfers: one balanced entry in the books. */
export interface Transaction {
  readonly id: TransactionId;
  readonly status: Open<TransactionStatus>;
  /** SHA-256 in hex; see transaction-hash.ts for what is hashed and how it chains. */
  readonly hash?: string;
  /** Ours: the order it carries out. A return has none: `returnOf` leads to the transaction that has one. */
  readonly orderID?: OrderId;
  /** Ours: the transaction that it reverses, a payment or a return. */
  readonly returnOf?: TransactionId;
  /** Ours: the return that reverses it. */
  readonly returnedBy?: TransactionId;
  readonly createdAt?: Timestamp;
  readonly updatedAt?: Timestamp;
  readonly edges: {
    /** Present when the money leaves for another institution. */
    readonly internationalRemittance?: InternationalRemittance;
    /** The transfers the customer can see. */
    readonly transfers?: readonly ExecutedTransfer[];
  };
}

/** An international payment and its tracking. */
export interface InternationalRemittance {
  readonly id: RemittanceId;
  readonly createdAt?: Timestamp;
  readonly updatedAt?: Timestamp;
  readonly edges: {
    readonly events?: readonly RemittanceEvent[];
  };
}

/** One word of the payment provider about a remittance on its way. */
export interface RemittanceEvent {
  readonly id: RemittanceEventId;
  /** Payment status of ISO 20022: `ACSP` on its way, `ACCC` credited, `RJCT` rejected; others may come. */
  readonly status: Open<'ACSP' | 'ACCC' | 'RJCT'>;
  /** What the provider said, as it said it. */
  readonly message?: string;
  /** Ours: the provider's reason code as it came, such as `G000` or `AC04`. */
  readonly reasonCode?: string;
  readonly createdAt?: Timestamp;
  readonly lastUpdatedAt?: Timestamp;
}
