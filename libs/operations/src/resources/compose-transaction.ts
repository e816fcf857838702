import {
  type Account,
  type BalanceId,
  type ExecutedTransfer,
  type InternationalRemittance,
  minorUnits,
  type OrderId,
  type RemittanceEvent,
  toBalanceAmount,
  type Transaction,
  type TransactionId,
  type TransactionStatus,
  type Transfer,
  type TransferAmount,
  type TransferDirection,
  type TransferId,
} from '@banking/domain';
import { lookup } from '@banking/postgres';
import type { Reference } from '../reference/reference.js';
import {
  column,
  type Columns,
  digits,
  digitsOrNull,
  joined,
  packed,
  packing,
  type RowOf,
  sqlOf,
  timestampOf,
  unpacking,
  withoutNulls,
} from './columns.js';
import {
  ACCOUNT_COLUMNS,
  type AccountRow,
  composeAccount,
  composeRecipient,
  PARTIES,
  type PartiesRow,
} from './compose-parties.js';
import { type Composed, selectedOf } from './reading.js';

type Id = bigint | number;

const EVENT_COLUMNS = {
  id: column<number>('id'),
  status: column<string>('status'),
  message: column<string | null>('message'),
  reasonCode: column<string | null>('reason_code'),
  createdAt: column<string>('created_at'),
  lastUpdatedAt: column<string>('last_updated_at'),
} satisfies Columns;

/**
 * A column of the only row of the workspace with a value in another column, looked up as a range of one value in the order of a unique
 * index. For an equality, a plan without table statistics may use another index that begins with the workspace, and read all of the
 * workspace for each transaction.
 */
const onlyOne = (wanted: string, table: string, key: string, { workspaceId, id }: TransactionName): string =>
  `(select l.${wanted} from ${table} l
    where l.workspace_id = ${workspaceId} and l.${key} >= ${id} and l.${key} <= ${id} order by l.${key} limit 1)`;

/** SQL expressions for the workspace and the id of a transaction. */
interface TransactionName {
  readonly workspaceId: string;
  readonly id: string;
}

const nameOf = (x: string): TransactionName => ({ workspaceId: `${x}.workspace_id`, id: `${x}.id` });

/** The order that a transaction carries out. */
export const orderIdOf = (name: TransactionName): string => onlyOne('order_id', 'execution', 'transaction_id', name);

/** The return that reverses a transaction. */
export const returnedByOf = (name: TransactionName): string => onlyOne('id', 'transaction', 'return_of', name);

/** The columns of a transaction without its transfers. */
export const TRANSACTION_COLUMNS = {
  transactionId: column<Id | null>('id'),
  transactionStatus: column<TransactionStatus>('status'),
  transactionHash: sqlOf<string>((x) => `encode(${x}.hash, 'hex')`),
  returnOf: column<Id | null>('return_of'),
  returnedBy: sqlOf<Id | null>((x) => returnedByOf(nameOf(x))),
  transactionCreatedAt: column<string>('created_at'),
  transactionUpdatedAt: column<string>('updated_at'),
} satisfies Columns;

/** The transfers of the transaction with an id. Those on own accounts are not disclosed. */
export const transfersOf = ({ workspaceId, id }: TransactionName): string =>
  lookup(`select * from transfer l where l.workspace_id = ${workspaceId} and l.transaction_id = ${id}`);

/**
 * The columns of a transaction with its transfers.
 *
 * @param knownAccount SQL of the id of an account that the caller composes
 */
export const transactionColumns = (knownAccount: string) =>
  ({
    ...TRANSACTION_COLUMNS,
    /** Its transfers on customers' accounts, each with its account unless that is known. */
    transfers: sqlOf<readonly (readonly unknown[])[] | null>(
      (x) => `(
    select json_agg(${packed(TRANSFER_COLUMNS, 's', [
      `case when s.account_id is distinct from ${knownAccount} then (
         select ${packed(ACCOUNT_COLUMNS, 'sa')} from account sa
         where sa.workspace_id = s.workspace_id and sa.id = s.account_id) end`,
    ])} order by s.id)
    from ${transfersOf(nameOf(x))} s)`,
    ),
  }) satisfies Columns;

/** What a transaction is composed of, with its tracking. */
export type TransactionRow = RowOf<ReturnType<typeof transactionColumns>>;

export const REMITTANCE_COLUMNS = {
  remittanceId: column<Id | null>('transaction_id'),
  remittanceCreatedAt: column<string>('created_at'),
  remittanceEvents: sqlOf<readonly (readonly unknown[])[] | null>(
    (m) => `(
    select json_agg(${packed(EVENT_COLUMNS, 'e')} order by e.created_at, e.id)
    from remittance_event e where e.workspace_id = ${m}.workspace_id and e.transaction_id = ${m}.transaction_id)`,
  ),
} satisfies Columns;

/** What customers see of a payout. It has the id of its transaction. */
export type RemittanceRow = RowOf<typeof REMITTANCE_COLUMNS>;

const NO_REMITTANCE: RemittanceRow = {
  remittanceId: null,
  remittanceCreatedAt: '',
  remittanceEvents: null,
};

const unpackRemittance = unpacking(REMITTANCE_COLUMNS);

/** The remittance of a packed row, if there is one. */
export const remittanceOf = (values: readonly unknown[] | null | undefined): RemittanceRow =>
  values ? unpackRemittance(values) : NO_REMITTANCE;

export const TRANSFER_COLUMNS = {
  transferId: column<bigint | number>('id'),
  transferAmount: digits('amount'),
  transferDescription: column<string | null>('description'),
  transferDirection: column<TransferDirection>('direction'),
  transferType: column<string>('type'),
  transferPurpose: column<string | null>('purpose'),
  transferFeeAmount: digitsOrNull('fee_amount'),
  transferCreatedAt: column<string>('created_at'),
  /** Digits, in minor units. */
  balanceAfter: digits('balance_after'),
} satisfies Columns;

/** What a transfer on a customer's account is composed of, besides its edges. */
export type TransferRow = RowOf<typeof TRANSFER_COLUMNS>;

const valuesOfTransfer = packing(TRANSFER_COLUMNS);
const valuesOfAccount = packing(ACCOUNT_COLUMNS);

/** A transfer in the form of `TransactionRow`, with its account unless that is known. */
export const packedTransfer = (transfer: TransferRow, account: AccountRow | undefined): readonly unknown[] => [
  ...valuesOfTransfer(transfer),
  account ? valuesOfAccount(account) : null,
];

const transferOf = unpacking(TRANSFER_COLUMNS);
const accountOf = unpacking(ACCOUNT_COLUMNS);
const eventOf = unpacking(EVENT_COLUMNS);
const TRANSFER_LENGTH = Object.keys(TRANSFER_COLUMNS).length;
const idOrNull = <Name extends number>(id: Id | null) => (id === null ? null : (Number(id) as Name));

/** A transaction as it was when it was posted, and the accounts of its transfers that are not known, with what has changed of them since. */
export const transactionAsPosted = (
  row: TransactionRow,
  transactionStatus: TransactionStatus,
  changed: Partial<AccountRow>,
): TransactionRow => ({
  ...row,
  transactionStatus,
  transactionUpdatedAt: row.transactionCreatedAt,
  returnedBy: null,
  transfers: (row.transfers ?? []).map((values) => {
    const account = values[TRANSFER_LENGTH] as readonly unknown[] | null;
    return packedTransfer(transferOf(values), account ? { ...accountOf(account), ...changed } : undefined);
  }),
});

/** The tracking of a payout that no network has reported on yet. */
export const remittanceAsOpened = (row: RemittanceRow): RemittanceRow => ({ ...row, remittanceEvents: null });

/** The transfers of a row, of which some are on an account that the caller has composed. */
export const composeTransfers = (
  reference: Reference,
  { transfers }: TransactionRow,
  knownAccount: Account | undefined,
): readonly ExecutedTransfer[] =>
  (transfers ?? []).map((values) => {
    const other = values[TRANSFER_LENGTH] as readonly unknown[] | null;
    const account = other === null ? knownAccount! : composeAccount(reference, accountOf(other));
    return composeTransfer(transferOf(values), account, {});
  });

/** A transaction with its tracking and its transfers on customers' accounts. */
export function composeTransaction(
  row: Omit<TransactionRow, 'transfers'>,
  remittance: RemittanceRow,
  orderId: Id | null,
  transfers: readonly ExecutedTransfer[],
): Transaction {
  return withoutNulls<Transaction>({
    id: Number(row.transactionId) as TransactionId,
    status: row.transactionStatus,
    hash: row.transactionHash,
    orderID: idOrNull<OrderId>(orderId),
    returnOf: idOrNull<TransactionId>(row.returnOf),
    returnedBy: idOrNull<TransactionId>(row.returnedBy),
    createdAt: timestampOf(row.transactionCreatedAt),
    updatedAt: timestampOf(row.transactionUpdatedAt),
    edges: withoutNulls<Transaction['edges']>({
      internationalRemittance: composeRemittance(remittance),
      transfers,
    }),
  });
}

function composeRemittance(row: RemittanceRow): InternationalRemittance | null {
  if (row.remittanceId === null) return null;
  const events = (row.remittanceEvents ?? []).map(eventOf);
  return {
    id: Number(row.remittanceId) as InternationalRemittance['id'],
    createdAt: timestampOf(row.remittanceCreatedAt),
    updatedAt: timestampOf(events.at(-1)?.createdAt ?? row.remittanceCreatedAt),
    edges: {
      events: events.map(({ id, status, message, reasonCode, createdAt, lastUpdatedAt }) => {
        return withoutNulls<RemittanceEvent>({
          id: id as RemittanceEvent['id'],
          status,
          message,
          reasonCode,
          createdAt: timestampOf(createdAt),
          lastUpdatedAt: timestampOf(lastUpdatedAt),
        });
      }),
    },
  };
}

export type TransactionFacts = TransactionRow & RemittanceRow & { readonly orderId: bigint | null };

/** A transaction `t` with all its edges. */
export const TRANSACTION: Composed<TransactionFacts, Transaction> = {
  columns: `${selectedOf([transactionColumns('null'), 't'], [REMITTANCE_COLUMNS, 'm'])}, ${orderIdOf(nameOf('t'))} as "orderId"`,
  joins: joined('payout', 'm', 'l.workspace_id = t.workspace_id and l.transaction_id = t.id'),
  compose: (reference, row) => composeTransaction(row, row, row.orderId, composeTransfers(reference, row, undefined)),
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

export type TransferFacts = TransferRow &
  PartiesRow &
  TransactionRow &
  RemittanceRow & { readonly orderId: bigint | null };

/** A transfer `t` with all its edges. Its account is `a`. */
export const TRANSFER: Composed<TransferFacts, Transfer> = {
  columns: `${selectedOf([TRANSFER_COLUMNS, 't'], [transactionColumns('t.account_id'), 'x'], [REMITTANCE_COLUMNS, 'm'])},
    ${PARTIES.columns}, ${orderIdOf(nameOf('x'))} as "orderId"`,
  joins: `${joined('transaction', 'x', 'l.workspace_id = t.workspace_id and l.id = t.transaction_id')}
   ${joined('payout', 'm', 'l.workspace_id = x.workspace_id and l.transaction_id = x.id')}
   ${PARTIES.joins}`,
  compose(reference, row) {
    const account = composeAccount(reference, row);
    const edges = withoutNulls<Pick<Transfer['edges'], 'recipient' | 'transaction'>>({
      recipient: composeRecipient(reference, row),
      transaction: composeTransaction(row, row, row.orderId, composeTransfers(reference, row, account)),
    });
    return composeTransfer(row, account, edges);
  },
};
