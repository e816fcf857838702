import {
  type AccountId,
  fromBalanceAmount,
  minorUnits,
  parseTransferAmount,
  type Scope,
  type Statement,
  type StatementPage,
  type StatementQuery,
  type WorkspaceId,
} from '@banking/domain';
import { post, postDeposits, type PostedTransaction, postPayments, type Proposal } from '@banking/ledger';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { demoDatabase, type TestDatabase } from './test-databases.js';

/** The period of all movements, by each basis. */
export const EVER = {
  booking: { from: '2000-01-01T00:00:00Z', to: '2100-01-01T00:00:00Z' },
  valueDate: { from: '2000-01-01', to: '2100-01-01' },
} as const;

/** A booking of an account. */
interface Booking {
  /** Minor units. */
  readonly amount: number;
  readonly isCredit: boolean;
  /** Whether it is booked together with the previous one. */
  readonly isTogether: boolean;
}

export const dayOf = (day: number) => `2026-03-${String(day).padStart(2, '0')}`;

/** A database with demo data, and functions that read its statements. */
export async function statementWorld() {
  const world = await demoDatabase();
  const service = new LedgerBankingService(world.database, world.books);
  const workspaceId = world.demo.workspaces['Northwind Trading'] as WorkspaceId;
  const scope: Scope = { workspaceId };
  const read = (accountId: AccountId, period: Omit<StatementQuery, 'accountId'>) =>
    service.getStatement(scope, { accountId, ...period });
  /** The pages of a statement. @param between what to do before each page but the first */
  const readPages = async (
    accountId: AccountId,
    period: Omit<StatementQuery, 'accountId'>,
    between: () => Promise<unknown> = () => Promise.resolve(),
  ): Promise<StatementPage[]> => {
    const pages = [await read(accountId, period)];
    for (let cursor = pages[0]?.next; cursor !== undefined; cursor = pages.at(-1)?.next) {
      await between();
      pages.push(await read(accountId, { ...period, cursor }));
    }
    return pages;
  };

  const openEuro = async (): Promise<AccountId> => {
    const products = await service.listProducts({});
    const productID = products.find(({ edges }) => edges.currency.code === 'EUR')!.id;
    return (await service.openAccount(scope, { productID, alias: 'Statements' })).resource.id;
  };

  /** Books on a new account, first an amount that covers all others. */
  const book = async (list: readonly Booking[]): Promise<AccountId> => {
    const accountId = await openEuro();
    const first: Booking = { amount: 100_000, isCredit: true, isTogether: false };
    await bookMore(accountId, [first, ...list]);
    return accountId;
  };

  const bookMore = async (accountId: AccountId, list: readonly Booking[]): Promise<void> => {
    const batches = list.reduce<Proposal[][]>((so, booking) => {
      const proposal = proposalOf(workspaceId, accountId, booking);
      const last = so.at(-1);
      return booking.isTogether && last ? [...so.slice(0, -1), [...last, proposal]] : [...so, [proposal]];
    }, []);
    for (const batch of batches) await post(world.books, batch, (posted) => posted.flatMap(writeOne));
  };

  return { world, service, scope, workspaceId, read, readPages, openEuro, book, bookMore };
}

function proposalOf(workspaceId: WorkspaceId, account: AccountId, { amount, isCredit }: Booking): Proposal {
  const movement = { currencyId: 978, amount: minorUnits(BigInt(amount)), type: isCredit ? 'funding' : 'payout' };
  const legs = [
    { ...movement, account, direction: isCredit ? 'credit' : 'debit' },
    { ...movement, account: 'settlement', direction: isCredit ? 'debit' : 'credit' },
  ] as const;
  const rail = isCredit ? undefined : 'sandbox';
  return { entries: [{ workspaceId, status: isCredit ? 'completed' : 'pending', legs, rail }] };
}

export const opening = ({ openingBalance }: Statement) => fromBalanceAmount(openingBalance);

export const closing = ({ closingBalance }: Statement) => fromBalanceAmount(closingBalance);

/** One statement of all movements of its pages. */
export function joined(pages: readonly StatementPage[]): Statement {
  const { next: _, ...first } = pages[0]!;
  return { ...first, movements: pages.flatMap(({ movements }) => movements) };
}

/** The rules of every statement, whatever was booked. */
export function expectToAddUp(statement: Statement): void {
  let balance: bigint = opening(statement);
  for (const { direction, amount, balanceAfter } of statement.movements) {
    balance += direction === 'credit' ? parseTransferAmount(amount) : -parseTransferAmount(amount);
    expect(fromBalanceAmount(balanceAfter)).toBe(balance);
  }
  expect(closing(statement)).toBe(balance);
}

/**
 * Books many credits of 1 on an account of the demo data in one statement, without the chain of
 * hashes: for what is measured by their number alone.
 *
 * @param bookedAt SQL for the time at which the transfers number `n` are booked
 */
export async function bookMany(
  { owner }: Pick<TestDatabase, 'owner'>,
  { accountId, count, bookedAt = 'statement_timestamp()' }: { accountId: number; count: number; bookedAt?: string },
): Promise<void> {
  await owner.query('begin');
  await owner.query(
    `select set_config('app.workspaces', format('{%s}', workspace_id), true) from banking.account where id = $1`,
    [accountId],
  );
  await owner.query(
    `with made as (
       insert into transaction (workspace_id, status, hash)
       select a.workspace_id, 'completed', decode(repeat('0', 64), 'hex')
       from account a, generate_series(1, $2::int) n where a.id = $1
       returning workspace_id, id),
     numbered as (select *, row_number() over (order by id) as n from made)
     insert into transfer (workspace_id, transaction_id, account_id, currency_id, direction, amount, type, description, description_salt,
                           description_digest, account_version, balance_after, created_at, own_legs)
     select m.workspace_id, m.id, a.id, a.currency_id, 'credit', 1, 'funding', 'One of many', decode(repeat('5a', 16), 'hex'),
            salted_digest(decode(repeat('5a', 16), 'hex'), array['One of many']), a.version + n, a.balance + n, ${bookedAt},
            array[row(nextval('transfer_id_seq'), own.id, own.currency_id, 'funding', -1)::own_leg]
     from numbered m join account a on a.workspace_id = m.workspace_id and a.id = $1
     join account own on own.workspace_id = a.workspace_id and own.kind = 'settlement' and own.currency_id = a.currency_id
     order by n`,
    [accountId, count],
  );
  await owner.query(
    `update account a
     set balance = t.balance_after, version = t.account_version, balance_id = t.id, balance_at = t.created_at, head = decode(repeat('0', 64), 'hex')
     from (select * from transfer where account_id = $1 order by account_version desc limit 1) t where a.id = t.account_id`,
    [accountId],
  );
  await owner.query('commit');
}

/** A credit of a customer comes from a settlement account. */
const writeOne = (transaction: PostedTransaction) =>
  (transaction.entry.legs.some(({ account, direction }) => account === 'settlement' && direction === 'debit')
    ? postDeposits
    : postPayments)([transaction]);
