import {
  type Account,
  type ExecutedTransfer,
  LIMIT_MAX,
  type Recipient,
  type Transaction,
  type Transfer,
} from '@banking/domain';
import type { Reference } from '../reference/reference.js';
import { column, type Columns, joined, packed, type RowOf, sqlOf, unpacking, withoutNulls } from './columns.js';
import { ACCOUNT_COLUMNS, composeAccount, composeRecipient, packedRecipient } from './compose-parties.js';
import {
  composeTransaction,
  composeTransfer,
  orderIdOf,
  REMITTANCE_COLUMNS,
  remittanceOf,
  TRANSACTION_COLUMNS,
  TRANSFER_COLUMNS,
  transfersOf,
} from './compose-transaction.js';
import { byId, type ComposedPage, packedRow, type PackedRows, packedRows, rowsOf } from './reading.js';

/** What the edges of a page are composed of. */
export interface EdgeFacts {
  readonly transactions: PackedRows;
  readonly transfers: PackedRows;
  readonly accounts: PackedRows;
  readonly recipients: PackedRows;
}

/** A transaction with the order that it carries out and its tracking. */
const linkedTransaction = (orderId: string) =>
  ({
    ...TRANSACTION_COLUMNS,
    orderId: sqlOf<number | null>(() => orderId),
    remittance: sqlOf<readonly unknown[] | null>(
      () => `case when m.transaction_id is not null then ${packed(REMITTANCE_COLUMNS, 'm')} end`,
    ),
  }) satisfies Columns;

/** A transfer with the ids of its edges. */
const LINKED_TRANSFER = {
  ...TRANSFER_COLUMNS,
  transactionId: column<number>('transaction_id'),
  accountId: column<number>('account_id'),
  recipientId: column<number | null>('recipient_id'),
} satisfies Columns;

type LinkedTransfer = RowOf<typeof LINKED_TRANSFER>;

const ACCOUNT = packedRow(ACCOUNT_COLUMNS, 'a');
const RECIPIENT = packedRecipient('r');
const transactionOf = unpacking(linkedTransaction(''));
const transferOf = unpacking(LINKED_TRANSFER);

/** The page, with a limit that the planner knows: it sizes a hash table for distinct values by the number of rows. */
const PAGE = `(select * from page limit ${LIMIT_MAX + 1}) p`;

interface LinkedTransactions {
  /** The query of their distinct `id`. */
  readonly ids: string;
  /** SQL of the order that a transaction `x` carries out, over a row `i` of the query. */
  readonly orderId: string;
}

/** The transactions of a page whose rows have one each. */
const TRANSACTIONS_OF_PAGE: LinkedTransactions = {
  ids: `select p.transaction_id as id from ${PAGE} group by p.transaction_id`,
  orderId: orderIdOf({ workspaceId: 'x.workspace_id', id: 'x.id' }),
};

/** The edges of a page whose rows have an account and may have a recipient. */
export const edgesOf = ({
  ids,
  orderId,
}: LinkedTransactions): { readonly tables: string; readonly columns: string } => ({
  tables: `, linked_transaction as materialized (${ids}),
     linked_transfer as materialized (
       select s.* from linked_transaction i
       cross join ${transfersOf({ workspaceId: '$1', id: 'i.id' })} s),
     linked_account as materialized (
       select u.id from (select account_id as id from linked_transfer union all select p.account_id from ${PAGE}) u group by u.id),
     linked_recipient as materialized (
       select p.recipient_id as id from ${PAGE} where p.recipient_id is not null group by p.recipient_id)`,
  columns: `${packedRows(
    packed(linkedTransaction(orderId), 'x'),
    `${rowsOf('transaction', 'x', 'linked_transaction')}
     ${joined('payout', 'm', 'l.workspace_id = x.workspace_id and l.transaction_id = x.id')}`,
  )} as transactions,
   ${packedRows(packed(LINKED_TRANSFER, 's'), 'linked_transfer s', 's.id')} as transfers,
   ${packedRows(ACCOUNT.packed, rowsOf('account', 'a', 'linked_account'))} as accounts,
   ${packedRows(RECIPIENT.packed, `${rowsOf('recipient', 'r', 'linked_recipient')} ${RECIPIENT.joins}`)} as recipients`,
});

/** The edges of a page, each composed once. */
export class Edges {
  readonly transfers: ReadonlyMap<number, LinkedTransfer>;
  private readonly accounts: ReadonlyMap<number, Account>;
  private readonly recipients: ReadonlyMap<number, Recipient>;
  private readonly transactions: ReadonlyMap<number, Transaction>;

  constructor(reference: Reference, facts: EdgeFacts) {
    this.accounts = byId((facts.accounts ?? []).map((values) => composeAccount(reference, ACCOUNT.rowOf(values))));
    // Each row is that of a recipient, so there is one.
    this.recipients = byId(
      (facts.recipients ?? []).map((values) => composeRecipient(reference, RECIPIENT.rowOf(values))!),
    );
    const transfers = (facts.transfers ?? []).map(transferOf);
    this.transfers = new Map(transfers.map((row) => [Number(row.transferId), row]));
    const executed = new Map<number, ExecutedTransfer[]>();
    for (const row of transfers) {
      const all = executed.get(row.transactionId);
      const transfer = composeTransfer(row, this.account(row.accountId), {});
      if (all) all.push(transfer);
      else executed.set(row.transactionId, [transfer]);
    }
    this.transactions = byId(
      (facts.transactions ?? []).map((values) => {
        const row = transactionOf(values);
        const id = Number(row.transactionId);
        return composeTransaction(row, remittanceOf(row.remittance), row.orderId, executed.get(id) ?? []);
      }),
    );
  }

  account(id: number): Account {
    const account = this.accounts.get(id);
    if (account === undefined) throw new Error(`a page lacks the account of an item`);
    return account;
  }

  recipient(id: number | null): Recipient | null {
    return id === null ? null : (this.recipients.get(id) ?? null);
  }

  transaction(id: number | null): Transaction | null {
    return id === null ? null : (this.transactions.get(id) ?? null);
  }
}

/** The edges of a page whose rows have one transaction each, or none. */
export const EDGES = edgesOf(TRANSACTIONS_OF_PAGE);

/** A page of transfers. Each is one of the transfers of its transaction. */
export const TRANSFER_PAGE: ComposedPage<EdgeFacts, Transfer> = {
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
