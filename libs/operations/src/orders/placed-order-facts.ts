import { accountKey, type PostedTransaction } from '@banking/ledger';
import { type OrderFacts, packedExecution } from '../resources/compose-order.js';
import { packedTransfer, type TransactionRow } from '../resources/compose-transaction.js';
import type { TransferRow } from '../resources/compose-transfer.js';
import { inUtc } from '../resources/timestamp-of.js';
import type { PostedOrder } from './decide-orders.js';
import type { OrderWrites } from './order-statements.js';
import type { AccountsByKey } from './lock-orders.js';
import type { Placement } from './prepared-order.js';

/** The accounts as the batch leaves them. */
export function accountsAfter(accounts: AccountsByKey, posted: readonly PostedTransaction[]): AccountsByKey {
  const after = new Map(accounts);
  for (const { workspaceId, at: balanceAt, transfers } of posted) {
    for (const { id: balanceId, accountId, balanceAfter } of transfers) {
      const key = accountKey(workspaceId, accountId);
      const account = after.get(key);
      if (account && balanceAfter !== undefined) {
        after.set(key, { ...account, balanceId, balance: balanceAfter.toString(), balanceAt });
      }
    }
  }
  return after;
}

/**
 * What the response to a placed order is composed of: the rows that it writes, without reading them back.
 *
 * Field by field: spreading rows of so many columns took a twelfth of the time of a batch.
 */
export function placedOrderFacts(
  { order, posted }: PostedOrder & { readonly order: Placement },
  { orders: [row] = [], executions: [execution] = [], payouts: [payout] = [] }: OrderWrites,
  accounts: AccountsByKey,
): OrderFacts {
  const { workspaceId, accountId, recipient } = order;
  const account = accounts.get(accountKey(workspaceId, accountId ?? NaN));
  if (!row || !execution || !account) throw new Error('an order was placed without its rows');
  const [transaction] = posted;
  return {
    orderId: row.id,
    orderAmount: row.amount.toString(),
    orderStatus: row.status,
    orderType: row.type,
    orderDescription: row.description ?? null,
    purposeCode: row.purposeCode ?? null,
    repeatUnit: row.repeatUnit ?? null,
    repeatValue: row.repeatValue ?? null,
    startAt: row.anchor === undefined ? null : inUtc(row.anchor),
    stopAt: row.stopAt === undefined ? null : inUtc(row.stopAt),
    pausedAt: null,
    pauseReason: null,
    quoteId: row.quoteId ?? null,
    externalReference: row.externalReference ?? null,
    metadata: row.metadata ? asStored(row.metadata) : null,
    placedBy: row.placedBy ?? null,
    cancelledBy: null,
    orderCreatedAt: row.at,
    orderUpdatedAt: row.at,
    executions: [
      packedExecution(
        { ...execution, executedAt: execution.executedAt ?? null, failureCode: null, failureMessage: null },
        transaction && transactionRow(transaction, accountId, accounts),
        payout?.remittanceId === undefined || payout.at === undefined
          ? undefined
          : {
              remittanceId: payout.remittanceId,
              remittanceCreatedAt: payout.at,
              remittanceUpdatedAt: payout.at,
              remittanceEvents: null,
            },
      ),
    ],
    accountId: account.accountId,
    accountName: account.accountName,
    accountStatus: account.accountStatus,
    accountType: account.accountType,
    accountAlias: account.accountAlias,
    accountCode: account.accountCode,
    accountCreatedAt: account.accountCreatedAt,
    accountUpdatedAt: account.accountUpdatedAt,
    balanceId: account.balanceId,
    balance: account.balance,
    balanceAt: account.balanceAt,
    currencyId: account.currencyId,
    productId: account.productId,
    recipientId: recipient.recipientId,
    recipientName: recipient.recipientName,
    recipientAccountCode: recipient.recipientAccountCode,
    recipientAlias: recipient.recipientAlias,
    recipientSaved: recipient.recipientSaved,
    recipientCreatedAt: recipient.recipientCreatedAt,
    recipientUpdatedAt: recipient.recipientUpdatedAt,
    recipientCurrencyId: recipient.recipientCurrencyId,
    recipientShowsCurrency: recipient.recipientShowsCurrency,
    bankId: recipient.bankId,
    beneficiaryId: recipient.beneficiaryId,
    beneficiaryData: recipient.beneficiaryData,
    beneficiaryCreatedAt: recipient.beneficiaryCreatedAt,
    beneficiaryUpdatedAt: recipient.beneficiaryUpdatedAt,
  };
}

function transactionRow(
  { workspaceId, id, at, hash, entry, transfers }: PostedTransaction,
  knownAccount: number | undefined,
  accounts: AccountsByKey,
): TransactionRow {
  return {
    transactionId: id,
    transactionStatus: entry.status,
    transactionHash: hash,
    returnOf: entry.returnOf ?? null,
    returnedBy: null,
    transactionCreatedAt: at,
    transactionUpdatedAt: at,
    transfers: transfers.flatMap(({ id: transferId, leg, accountId, balanceAfter }) => {
      if (balanceAfter === undefined) return [];
      const transfer: TransferRow = {
        transferId,
        transferAmount: leg.amount.toString(),
        transferDescription: leg.description ?? null,
        transferDirection: leg.direction,
        transferType: leg.type,
        transferPurpose: leg.purpose ?? null,
        transferFeeAmount: leg.feeAmount?.toString() ?? null,
        transferCreatedAt: at,
        balanceAfter: balanceAfter.toString(),
      };
      const account = accountId === knownAccount ? undefined : accounts.get(accountKey(workspaceId, accountId));
      return [packedTransfer(transfer, account)];
    }),
  };
}

/** The members in the order of `jsonb`, so that the response has the same bytes as a later read: by length, then by bytes. */
function asStored(metadata: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const members = Object.entries(metadata).map(([name, value]) => ({ bytes: Buffer.from(name), name, value }));
  members.sort((one, other) => one.bytes.length - other.bytes.length || Buffer.compare(one.bytes, other.bytes));
  return Object.fromEntries(members.map(({ name, value }) => [name, value]));
}
