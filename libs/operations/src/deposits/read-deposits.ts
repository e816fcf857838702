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
  type TransactionId,
  type TransferAmount,
  type WorkspaceId,
} from '@banking/domain';
import { bind, sqlStatement } from '@banking/postgres';
import { listPage, namedParties } from '../lists/list-page.js';
import { checkPeriod, pageByClass, type PagedList } from '../lists/paged-list.js';
import {
  column,
  type Columns,
  digits,
  joined,
  listed,
  packed,
  type RowOf,
  sqlOf,
  timestampOf,
  unpacking,
  withoutNulls,
} from '../resources/columns.js';
import { ACCOUNT_COLUMNS, composeAccount } from '../resources/compose-parties.js';
import {
  type Composed,
  pageOfRows,
  type Reading,
  readResource,
  type RowFacts,
  selectedOf,
} from '../resources/reading.js';
import type { Reference } from '../reference/reference.js';
import type { ReceivingAccount } from './match-entry.js';

const DEPOSIT_COLUMNS = {
  depositId: column<bigint | number>('id'),
  depositAmount: digits('amount'),
  depositStatus: column<DepositStatus>('status'),
  depositReference: column<string | null>('reference'),
  payer: column<Deposit['payer']>('payer'),
  valueDate: sqlOf<string | null>((alias) => `${alias}.value_on::text`),
  transactionId: column<bigint | number | null>('transaction_id'),
  depositCreatedAt: column<string>('created_at'),
  depositUpdatedAt: column<string>('updated_at'),
} satisfies Columns;

type DepositFacts = RowOf<typeof DEPOSIT_COLUMNS> & RowOf<typeof ACCOUNT_COLUMNS>;

const ACCOUNT_OF = joined('account', 'a', 'l.workspace_id = t.workspace_id and l.id = t.account_id');

/** A deposit `t` with its account. */
const DEPOSIT: Composed<DepositFacts, Deposit> = {
  columns: selectedOf([DEPOSIT_COLUMNS, 't'], [ACCOUNT_COLUMNS, 'a']),
  joins: ACCOUNT_OF,
  compose: composeDeposit,
};

function composeDeposit(reference: Reference, row: DepositFacts): Deposit {
  return withoutNulls<Deposit>({
    id: Number(row.depositId) as DepositId,
    amount: row.depositAmount as TransferAmount,
    status: row.depositStatus,
    reference: row.depositReference,
    payer: row.payer,
    valueDate: row.valueDate,
    transactionID: row.transactionId === null ? null : (Number(row.transactionId) as TransactionId),
    createdAt: timestampOf(row.depositCreatedAt),
    updatedAt: timestampOf(row.depositUpdatedAt),
    edges: { account: composeAccount(reference, row) },
  });
}

const GET_DEPOSIT = sqlStatement<DepositFacts>(
  'get_deposit',
  `select ${DEPOSIT.columns} from deposit t ${DEPOSIT.joins} where t.workspace_id = $1 and t.id = $2`,
);

/** @throws Refusal `deposit_not_found` also for a deposit of another workspace */
export async function getDeposit(
  reading: Reading,
  workspaceId: WorkspaceId,
  depositId: DepositId | PlainNumber,
): Promise<Deposit> {
  const bound = bind(GET_DEPOSIT, workspaceId, depositId);
  const deposit = await readResource(reading, workspaceId, { bound, compose: DEPOSIT.compose });
  if (!deposit) throw new Refusal('deposit_not_found');
  return deposit;
}

const DEPOSITS: PagedList<RowFacts, Deposit> = {
  name: 'list_deposits',
  table: 'deposit',
  indexes: [{ filter: 'accountId', where: 'l.account_id is not null' }, { where: 'l.id >= 1' }],
  classes: { status: 'text' },
  filters: {
    accountId: (id) => `l.account_id = ${id}::bigint`,
    createdFrom: (from) => `l.created_at >= ${from}::timestamptz`,
    createdTo: (to) => `l.created_at < ${to}::timestamptz`,
  },
  page: pageByClass,
  items: pageOfRows(
    {
      packed: packed(DEPOSIT_COLUMNS, 't', listed(ACCOUNT_COLUMNS, 'a')),
      joins: ACCOUNT_OF,
      rowOf: unpacking({ ...DEPOSIT_COLUMNS, ...ACCOUNT_COLUMNS }),
    },
    composeDeposit,
  ),
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
