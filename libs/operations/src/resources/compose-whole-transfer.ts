import type { Transfer } from '@banking/domain';
import { ACCOUNT_COLUMNS, type AccountRow, composeAccount } from './compose-account.js';
import {
  BENEFICIARY_COLUMNS,
  beneficiaryOf,
  type BeneficiaryRow,
  composeRecipient,
  RECIPIENT_COLUMNS,
  type RecipientRow,
} from './compose-recipient.js';
import {
  composeTransaction,
  composeTransfers,
  orderIdOf,
  REMITTANCE_COLUMNS,
  type RemittanceRow,
  transactionColumns,
  type TransactionRow,
} from './compose-transaction.js';
import { composeTransfer, TRANSFER_COLUMNS, type TransferRow } from './compose-transfer.js';
import { joined } from './columns.js';
import { type Composed, selectedOf } from './composed.js';
import { type ComposedPage } from './compose-page.js';
import { type EdgeFacts, Edges, edgesOf, TRANSACTIONS_OF_PAGE } from './compose-edges.js';
import { withoutNulls } from './without-nulls.js';

export type TransferFacts = TransferRow &
  AccountRow &
  TransactionRow &
  RemittanceRow &
  RecipientRow &
  BeneficiaryRow & { readonly orderId: bigint | null };

/** A transfer `t` with all its edges. Its account is `a`. */
export const TRANSFER: Composed<TransferFacts, Transfer> = {
  columns: `${selectedOf(
    [TRANSFER_COLUMNS, 't'],
    [ACCOUNT_COLUMNS, 'a'],
    [transactionColumns('t.account_id'), 'x'],
    [REMITTANCE_COLUMNS, 'm'],
    [RECIPIENT_COLUMNS, 'r'],
    [BENEFICIARY_COLUMNS, 'n'],
  )}, ${orderIdOf({ workspaceId: 'x.workspace_id', id: 'x.id' })} as "orderId"`,
  joins: `${joined('account', 'a', 'l.workspace_id = t.workspace_id and l.id = t.account_id')}
   ${joined('transaction', 'x', 'l.workspace_id = t.workspace_id and l.id = t.transaction_id')}
   ${joined('remittance', 'm', 'l.workspace_id = x.workspace_id and l.transaction_id = x.id')}
   ${joined('recipient', 'r', 'l.workspace_id = t.workspace_id and l.id = t.recipient_id')}
   ${beneficiaryOf('r')}`,
  compose(reference, row) {
    const account = composeAccount(reference, row);
    const edges = withoutNulls<Pick<Transfer['edges'], 'recipient' | 'transaction'>>({
      recipient: composeRecipient(reference, row),
      transaction: composeTransaction(row, row.orderId, composeTransfers(reference, row, account)),
    });
    return composeTransfer(row, account, edges);
  },
};

export type TransferPageFacts = EdgeFacts;

const EDGES = edgesOf(TRANSACTIONS_OF_PAGE);

/** A page of transfers. Each is one of the transfers of its transaction. */
export const TRANSFER_PAGE: ComposedPage<TransferPageFacts, Transfer> = {
  ...EDGES,
  compose(reference, facts) {
    const edges = new Edges(reference, facts);
    return (id) => {
      const row = edges.transfers.get(id);
      return (
        row &&
        composeTransfer(
          row,
          edges.account(row.accountId),
          withoutNulls<Pick<Transfer['edges'], 'recipient' | 'transaction'>>({
            recipient: edges.recipient(row.recipientId),
            transaction: edges.transaction(row.transactionId),
          }),
        )
      );
    };
  },
};
