import type { AccountId, RecipientId } from './ids.js';
import type { PageQuery } from './lists.js';
import type { TransferDirection } from './resources/transfer.js';
import type { TransactionStatus } from './states.js';

/** What is to be listed. All that is given must hold. */
export interface TransferQuery extends PageQuery {
  readonly accountId?: AccountId | undefined;
  readonly recipientId?: RecipientId | undefined;
  readonly direction?: TransferDirection | undefined;
  readonly type?: string | undefined;
  /** Status of the transaction that executed it. */
  readonly transactionStatus?: TransactionStatus | undefined;
  /** RFC 3339 with an offset, inclusive. */
  readonly createdFrom?: string | undefined;
  /** RFC 3339 with an offset, exclusive. */
  readonly createdTo?: string | undefined;
}
