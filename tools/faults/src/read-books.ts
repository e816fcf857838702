import type { DatabaseServer } from './database-server.js';

/** An order of the load as the database holds it. */
export interface BookedOrder {
  readonly key: string;
  readonly workspaceId: number;
  readonly id: number;
  readonly accountId: number;
  readonly recipientId: number;
  readonly amount: string;
  /** The transactions that executed it. */
  readonly transactions: number;
}

/** The debits that carry a key, however they came into the books. */
interface KeyedDebits {
  readonly key: string;
  readonly transactions: number;
  /** Minor units, without fees. */
  readonly amount: string;
}

/** One payout and what the network knows of it. */
interface BookedPayout {
  readonly name: string;
  readonly status: string;
  readonly payments: number;
  readonly amountsDiffer: boolean;
}

/** The final state of the database, which the client log is compared with. */
export interface BooksState {
  readonly orders: readonly BookedOrder[];
  readonly debits: readonly KeyedDebits[];
  readonly payouts: readonly BookedPayout[];
  /** Payments at the network that no payout asked for. */
  readonly strayPayments: readonly string[];
  /** The balance of each customer account, by its id. */
  readonly balances: ReadonlyMap<number, string>;
}

const ORDERS = `
  select o.description as "key", o.workspace_id::int as "workspaceId", o.id::float8 as id, o.account_id::float8 as "accountId",
         o.recipient_id::float8 as "recipientId", o.amount::text as amount,
         count(distinct e.transaction_id)::int as transactions
  from customer_order o left join execution e on (e.workspace_id, e.order_id) = (o.workspace_id, o.id)
  where o.description like $1
  group by o.workspace_id, o.id`;

const DEBITS = `
  select description as "key", count(distinct transaction_id)::int as transactions, sum(amount)::text as amount
  from transfer
  where description like $1 and direction = 'debit' and account_version is not null and type <> 'fee'
  group by description`;

const PAYOUTS = `
  select p.workspace_id || ' ' || p.transaction_id as name, p.status, count(r.key)::int as payments,
         coalesce(bool_or(r.amount <> t.amount), false) as "amountsDiffer"
  from payout p
  join transfer t on (t.workspace_id, t.transaction_id) = (p.workspace_id, p.transaction_id)
    and t.direction = 'debit' and t.account_version is not null and t.type <> 'fee'
  left join sandbox_rail_payment r
    on (split_part(r.key, '-', 2), split_part(r.key, '-', 3)) = (p.workspace_id::text, p.transaction_id::text)
  where t.description like $1
  group by p.workspace_id, p.transaction_id`;

const STRAY_PAYMENTS = `
  select r.key from sandbox_rail_payment r
  where not exists (
    select from payout p where r.key = concat_ws('-', 'payout', p.workspace_id, p.transaction_id, p.key_nonce))`;

const BALANCES = `select id::float8 as id, balance::text as balance from account where kind = 'customer'`;

const UNSETTLED = `
  select (select count(*) from payout where status in ('due', 'submitting', 'submitted') and created_at > $1)::int
    + (select count(*) from crossing where status = 'due' and created_at > $1)::int as count`;

type Queried = Pick<DatabaseServer, 'query'>;

/** Reads the orders whose key begins with the prefix, and what belongs to them. */
export async function readBooks(databases: readonly Queried[], prefix: string): Promise<BooksState> {
  const like = [`${prefix}-%`];
  const balances = await readEach<{ id: number; balance: string }>(databases, BALANCES);
  return {
    orders: await readEach<BookedOrder>(databases, ORDERS, like),
    debits: await readEach<KeyedDebits>(databases, DEBITS, like),
    payouts: await readEach<BookedPayout>(databases, PAYOUTS, like),
    strayPayments: (await readEach<{ key: string }>(databases, STRAY_PAYMENTS)).map(({ key }) => key),
    balances: new Map(balances.map(({ id, balance }) => [id, balance])),
  };
}

/** The payouts, and the payments to other cells, since a time that are not finished. */
export async function countUnsettled(databases: readonly Queried[], since: Date): Promise<number> {
  const counts = await readEach<{ count: number }>(databases, UNSETTLED, [since]);
  return counts.reduce((sum, { count }) => sum + count, 0);
}

/** The rows of all databases of a run. */
async function readEach<Row extends object>(
  databases: readonly Queried[],
  text: string,
  values: readonly unknown[] = [],
): Promise<Row[]> {
  const rows: Row[] = [];
  for (const database of databases) rows.push(...(await database.query<Row>(text, values)));
  return rows;
}
