import type { AccountId, PlainNumber, RecipientId } from './ids.js';
import type { PageQuery } from './lists.js';
import type { TransferDirection } from './resources/transfer.js';
import type { TransactionStatus } from './states.js';

/** Filters of the list of transfers. They are combined with AND. */
export interface TransferQuery extends PageQuery {
  readonly accountId?: AccountId | PlainNumber | undefined;
  readonly recipientId?: RecipientId | PlainNumber | undefined;
  readonly direction?: TransferDirection | undefined;
  readonly type?: string | undefined;
  /** The status of its transaction. */
  readonly transactionStatus?: TransactionStatus | undefined;
  /** RFC 3339 with an offset, inclusive. */
  readonly createdFrom?: string | undefined;
  /** RFC 3339 with an offset, exclusive. */
  readonly createdTo?: string | undefined;
}
