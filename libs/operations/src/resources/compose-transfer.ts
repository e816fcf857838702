import {
  minorUnits,
  toBalanceAmount,
  type Account,
  type BalanceId,
  type ExecutedTransfer,
  type TransferAmount,
  type TransferDirection,
  type TransferId,
} from '@banking/domain';
import { column, type Columns, digits } from './columns.js';
import { timestampOf } from './timestamp-of.js';
import { withoutNulls } from './without-nulls.js';

/** What a transfer on a customer's account is composed of, besides its edges. */
export interface TransferRow {
  readonly transferId: bigint | number;
  readonly transferAmount: string;
  readonly transferDescription: string | null;
  readonly transferDirection: TransferDirection;
  readonly transferType: string;
  readonly transferPurpose: string | null;
  readonly transferFeeAmount: string | null;
  readonly transferCreatedAt: string;
  /** Digits, in minor units. */
  readonly balanceAfter: string;
}

export const TRANSFER_COLUMNS: Columns<TransferRow> = {
  transferId: column('id'),
  transferAmount: digits('amount'),
  transferDescription: column('description'),
  transferDirection: column('direction'),
  transferType: column('type'),
  transferPurpose: column('purpose'),
  transferFeeAmount: digits('fee_amount'),
  transferCreatedAt: column('created_at'),
  balanceAfter: digits('balance_after'),
};

/** A transfer with its account and balance, and further edges. The balance after a transfer shares its id and its time. */
export function composeTransfer<Edges extends object>(
  row: TransferRow,
  account: Account,
  moreEdges: Edges,
): ExecutedTransfer & { readonly edges: Edges } {
  const createdAt = timestampOf(row.transferCreatedAt);
  const id = Number(row.transferId);
  return withoutNulls<ExecutedTransfer & { readonly edges: Edges }>({
    id: id as TransferId,
    amount: row.transferAmount as TransferAmount,
    description: row.transferDescription,
    direction: row.transferDirection,
    type: row.transferType,
    purpose: row.transferPurpose,
    feeAmount: row.transferFeeAmount as TransferAmount | null,
    createdAt,
    updatedAt: createdAt,
    edges: {
      account,
      balance: {
        id: id as BalanceId,
        amount: toBalanceAmount(minorUnits(BigInt(row.balanceAfter))),
        createdAt,
        updatedAt: createdAt,
      },
      ...moreEdges,
    },
  });
}
