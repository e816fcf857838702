import {
  type AccountId,
  type CurrencyCode,
  type Deposit,
  type DepositId,
  type DepositQuery,
  type DepositStatus,
  type Page,
  type PlainNumber,
  type ReceivingDetails,
  Refusal,
  type TransferAmount,
  type WorkspaceId,
  type BankReconciliation,
} from '@banking/domain';
import { bind, sqlStatement, lookup } from '@banking/postgres';
import { listPage, namedParties } from '../lists/list-page.js';
import { checkPeriod, pageByClass, type PagedList } from '../lists/paged-list.js';
import {
  column,
  type Columns,
  digits,
  packed,
  type RowOf,
  sqlOf,
  timestampOf,
  unpacking,
  withoutNulls,
} from '../resources/columns.js';
import { type EdgeFacts, EDGES, Edges } from '../resources/compose-edges.js';
import {
  byId,
  type ComposedPage,
  type PackedRows,
  packedRows,
  type Reading,
  readResource,
} from '../resources/reading.js';
import type { ReceivingAccount } from './match-entry.js';

const DEPOSIT_COLUMNS = {
  id: column<number>('id'),
  amount: digits('amount'),
  status: column<DepositStatus>('status'),
  reference: column<string | null>('reference'),
  payer: column<Deposit['payer']>('payer'),
  valueDate: sqlOf<string | null>((alias) => `${alias}.value_on::text`),
  createdAt: column<string>('created_at'),
  updatedAt: column<string>('updated_at'),
  accountId: column<number>('account_id'),
  transactionId: column<number | null>('transaction_id'),
} satisfies Columns;

const rowOf = unpacking(DEPOSIT_COLUMNS);

type DepositFacts = EdgeFacts & { readonly deposits: PackedRows };

/** Deposits with what the edges of a page are made from. */
const ROWS = '(select d.*, null::bigint as recipient_id from deposit d)';

const DEPOSIT_PAGE: ComposedPage<DepositFacts, Deposit> = {
  tables: EDGES.tables,
  columns: `${EDGES.columns}, ${packedRows(packed(DEPOSIT_COLUMNS, 'p'), 'page p')} as deposits`,
  compose(reference, facts) {
    const edges = new Edges(reference, facts);
    const deposits = byId((facts.deposits ?? []).map((values) => composeDeposit(edges, rowOf(values))));
    return (id) => deposits.get(id);
  },
};

function composeDeposit(edges: Edges, row: RowOf<typeof DEPOSIT_COLUMNS>): Deposit {
  return withoutNulls<Deposit>({
    id: row.id as DepositId,
    amount: row.amount as TransferAmount,
    status: row.status,
    reference: row.reference,
    payer: row.payer,
    valueDate: row.valueDate,
    createdAt: timestampOf(row.createdAt),
    updatedAt: timestampOf(row.updatedAt),
    edges: withoutNulls<Deposit['edges']>({
      account: edges.account(row.accountId),
      transaction: edges.transaction(row.transactionId),
    }),
  });
}

/** A page of one. */
const GET_DEPOSIT = sqlStatement<DepositFacts>(
  'get_deposit',
  `with page as materialized (select l.* from ${ROWS} l where l.workspace_id = $1 and l.id = $2) ${DEPOSIT_PAGE.tables}
   select ${DEPOSIT_PAGE.columns}`,
);

/** @throws Refusal `deposit_not_found` also for a deposit of another workspace */
export async function getDeposit(
  reading: Reading,
  workspaceId: WorkspaceId,
  depositId: DepositId | PlainNumber,
): Promise<Deposit> {
  return readResource(
    reading,
    workspaceId,
    {
      bound: bind(GET_DEPOSIT, workspaceId, depositId),
      compose: (reference, facts) => DEPOSIT_PAGE.compose(reference, facts)(depositId),
    },
    'deposit_not_found',
  );
}

const DEPOSITS: PagedList<DepositFacts, Deposit> = {
  name: 'list_deposits',
  table: ROWS,
  indexes: [{ filter: 'accountId', where: 'l.account_id is not null' }, { where: 'l.id >= 1' }],
  classes: { status: 'text' },
  filters: {
    accountId: (id) => `l.account_id = ${id}::bigint`,
    createdFrom: (from) => `l.created_at >= ${from}::timestamptz`,
    createdTo: (to) => `l.created_at < ${to}::timestamptz`,
  },
  page: pageByClass,
  items: DEPOSIT_PAGE,
};

/** @throws Refusal as the port's `listDeposits` states */
export async function listDeposits(
  reading: Reading,
  workspaceId: WorkspaceId,
  { limit, cursor, ...filters }: DepositQuery,
): Promise<Page<Deposit>> {
  checkPeriod(filters);
  const named = namedParties(workspaceId, filters);
  return listPage(reading, DEPOSITS, { workspaceId, limit, cursor, filters, named });
}

const GET_CODE = sqlStatement<{ code: string; currency: CurrencyCode }>(
  'get_code_of_account',
  `select a.code, c.code as currency from account a join currency c on c.id = a.currency_id
   where a.workspace_id = $1 and a.id = $2 and a.kind = 'customer'`,
);

/**
 * What a payer writes so that money arrives on an account: one for each bank account in its currency, in their order.
 *
 * @throws Refusal `account_not_found` also for an account of another workspace
 */
export async function receivingDetails(
  { database }: Pick<Reading, 'database'>,
  workspaceId: WorkspaceId,
  accountId: AccountId | PlainNumber,
  receiving: readonly ReceivingAccount[],
): Promise<readonly ReceivingDetails[]> {
  const account = await database.read({ workspaces: [workspaceId] }, bind(GET_CODE, workspaceId, accountId));
  if (!account) throw new Refusal('account_not_found');
  const { code: reference, currency } = account;
  return receiving
    .filter((bank) => bank.currency === currency)
    .map(({ id, isIban, bic, holder }) => ({
      holder,
      ...(isIban ? { iban: id } : { accountNumber: id }),
      ...{ bic, currency, reference },
    }));
}

interface ReconciliationRow {
  readonly rail: string;
  readonly bank_account: string;
  readonly currency_id: number;
  readonly compared_at: string;
  readonly result: Omit<BankReconciliation, 'rail' | 'bankAccount' | 'comparedAt' | 'edges'>;
}

/** A code of RAILS_FILE may be in groups and in any case. */
const SUSPENSE_CODE = String.raw`upper(regexp_replace(r.suspense_account, '\s', '', 'g'))`;

/**
 * A bank account belongs to no workspace: its suspense account is one of the operator's own, and says in which workspace they are. Rows
 * of bank accounts without one are for the command only.
 */
const LIST_RECONCILIATIONS = sqlStatement<ReconciliationRow>(
  'list_reconciliations',
  `select r.rail, r.bank_account, c.id as currency_id, r.compared_at, r.result
   from bank_reconciliation r
   join currency c on c.code = r.currency
   cross join ${lookup(`select from account l where l.workspace_id = $1 and l.code = ${SUSPENSE_CODE}`)} a
   order by r.rail, r.bank_account, r.currency`,
);

/** How the bank accounts whose suspense account is in the workspace compare with the books, as the worker found last. */
export async function listReconciliations(
  { database, reference }: Pick<Reading, 'database' | 'reference'>,
  workspaceId: WorkspaceId,
): Promise<readonly BankReconciliation[]> {
  const [rows] = await database.pipeline({ workspaces: [workspaceId] }, [
    bind(LIST_RECONCILIATIONS, workspaceId),
  ] as const);
  return reference.compose((current) =>
    rows.map(({ rail, bank_account: bankAccount, currency_id: currencyId, compared_at: comparedAt, result }) => ({
      ...{ rail, bankAccount, comparedAt: timestampOf(comparedAt), ...result },
      edges: { currency: current.currency(currencyId) },
    })),
  );
}
