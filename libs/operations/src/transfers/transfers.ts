import {
  type Page,
  type Transaction,
  type TransactionId,
  type Transfer,
  type TransferId,
  type TransferQuery,
  type WorkspaceId,
  type PlainNumber,
} from '@banking/domain';
import { bind, lookup, sqlStatement } from '@banking/postgres';
import { listPage, namedParties } from '../lists/list-page.js';
import {
  checkPeriod,
  classes,
  pageByClass,
  type PageConditions,
  type PagedList,
  pageOfFew,
  walk,
} from '../lists/paged-list.js';
import { type EdgeFacts, TRANSFER_PAGE } from '../resources/compose-edges.js';
import { TRANSACTION, type TransactionFacts, TRANSFER, type TransferFacts } from '../resources/compose-transaction.js';
import { type Reading, readResource, type ResourceQuery } from '../resources/reading.js';

const GET_TRANSACTION = sqlStatement<TransactionFacts>(
  'get_transaction',
  `select ${TRANSACTION.columns} from transaction t ${TRANSACTION.joins}
   where t.workspace_id = $1 and t.id = $2`,
);

export const transactionQuery = (
  workspaceId: number,
  transactionId: number,
): ResourceQuery<TransactionFacts, Transaction> => ({
  bound: bind(GET_TRANSACTION, workspaceId, transactionId),
  compose: TRANSACTION.compose,
});

/** @throws Refusal `transaction_not_found` also for a transaction of another workspace */
export async function getTransaction(
  reading: Reading,
  workspaceId: WorkspaceId,
  transactionId: TransactionId | PlainNumber,
): Promise<Transaction> {
  return readResource(reading, workspaceId, transactionQuery(workspaceId, transactionId), 'transaction_not_found');
}

const GET_TRANSFER = sqlStatement<TransferFacts>(
  'get_transfer',
  `select ${TRANSFER.columns} from transfer t ${TRANSFER.joins}
   where t.workspace_id = $1 and t.id = $2 and t.account_version is not null and a.kind = 'customer'`,
);

export const transferQuery = (workspaceId: number, transferId: number): ResourceQuery<TransferFacts, Transfer> => ({
  bound: bind(GET_TRANSFER, workspaceId, transferId),
  compose: TRANSFER.compose,
});

/** @throws Refusal `transfer_not_found` also for a transfer of another workspace, and for one on an own account */
export async function getTransfer(
  reading: Reading,
  workspaceId: WorkspaceId,
  transferId: TransferId | PlainNumber,
): Promise<Transfer> {
  return readResource(reading, workspaceId, transferQuery(workspaceId, transferId), 'transfer_not_found');
}

const TRANSFERS: PagedList<EdgeFacts, Transfer> = {
  name: 'list_transfers',
  table: 'transfer',
  // Transfers of the service's own accounts have neither version nor balance.
  indexes: [
    { filter: 'recipientId', where: 'l.balance_after is not null' },
    { filter: 'accountId', where: 'l.balance_after is not null' },
    { where: 'l.account_version is not null' },
  ],
  classes: { type: 'text', direction: 'text' },
  filters: {
    accountId: (id) => `l.account_id = ${id}::bigint`,
    recipientId: (id) => `l.recipient_id = ${id}::bigint`,
    createdFrom: (from) => `l.created_at >= ${from}::timestamptz`,
    createdTo: (to) => `l.created_at < ${to}::timestamptz`,
  },
  page: pageByClass,
  items: TRANSFER_PAGE,
};

/** The status is a column of the transaction, with a condition in the pages by status above. */
const BY_TRANSACTION = { ...TRANSFERS.filters, transactionStatus: () => 'true' };

/** Transfers of completed transactions. Most transactions are completed, so a scan from the newest fills the page soon. */
function pageOfCompleted(conditions: PageConditions): string {
  const status = conditions.parameters['transactionStatus'];
  const walked = `select w.* from walk w ${hasStatus('w', status)} limit $2`;
  const joined = (row: string) => hasStatus(row, status);
  return `${classes(conditions)}, ${walk(conditions)}, ${pageOfFew(conditions, walked, { joined })}`;
}

const hasStatus = (row: string, status: string | undefined) =>
  `cross join ${lookup(`select from transaction x
     where x.workspace_id = $1 and x.id = ${row}.transaction_id and x.status = ${status}::text`)} x`;

const OF_COMPLETED: PagedList<EdgeFacts, Transfer> = {
  ...TRANSFERS,
  name: 'list_transfers.completed',
  filters: BY_TRANSACTION,
  scanned: ['transactionStatus'],
  page: pageOfCompleted,
};

/**
 * Transfers of pending or failed transactions. Each has the time of its transaction, so those are read from the newest, by their index,
 * until the page is full. Transfers of one time are in the order of their ids, which need not be that of their transactions.
 */
function pageOfNotCompleted(conditions: PageConditions): string {
  const { table, range, after, rest, ofClass, parameters, filtered } = conditions;
  const { transactionStatus: status, createdFrom, createdTo } = parameters;
  const ofTransaction = [
    `x.workspace_id = $1 and x.status <> 'completed' and x.status = ${status}::text`,
    ...(createdFrom === undefined ? [] : [`x.created_at >= ${createdFrom}::timestamptz`]),
    ...(createdTo === undefined ? [] : [`x.created_at < ${createdTo}::timestamptz`]),
    ...(after.length === 0 ? [] : ['x.created_at <= $3::timestamptz']),
  ];
  const ofTransfer = [...range, ...after, ...rest, ...ofClass('l')];
  const scanned = `select n.* from (
      select l.* from transaction x
      cross join ${lookup(`select * from ${table} l where l.workspace_id = $1 and l.transaction_id = x.id`)} l
      where ${[...ofTransaction, ...ofTransfer].join(' and ')}
      order by x.created_at desc fetch first ($2) rows with ties) n
    order by n.created_at desc, n.id desc limit $2`;
  return pageOfFew(conditions, scanned, { joined: (row) => hasStatus(row, status), further: filtered });
}

const OF_NOT_COMPLETED: PagedList<EdgeFacts, Transfer> = {
  ...TRANSFERS,
  name: 'list_transfers.not_completed',
  filters: BY_TRANSACTION,
  scanned: ['type', 'direction', 'accountId', 'recipientId'],
  page: pageOfNotCompleted,
};

function listFor({ transactionStatus }: TransferQuery): PagedList<EdgeFacts, Transfer> {
  if (transactionStatus === undefined) return TRANSFERS;
  return transactionStatus === 'completed' ? OF_COMPLETED : OF_NOT_COMPLETED;
}

/** @throws Refusal as the port's `listTransfers` states */
export async function listTransfers(
  reading: Reading,
  workspaceId: WorkspaceId,
  { limit, cursor, ...filters }: TransferQuery,
): Promise<Page<Transfer>> {
  checkPeriod(filters);
  const named = namedParties(workspaceId, filters);
  return listPage(reading, listFor(filters), { workspaceId, limit, cursor, filters, named });
}
