import { minorUnits, parseTransferAmount, subtract } from '@banking/domain';
import type { Operation } from './client-log.js';
import { type Violation, violationsOf } from './scenario.js';
import type { Server } from './servers.js';
import { FUNDS, PAYOUT_FEE } from './world.js';

interface BookedOrder {
  readonly key: string;
  readonly workspaceId: number;
  readonly id: number;
  readonly accountId: number;
  readonly recipientId: number;
  readonly amount: string;
}

/** The debits that carry a key, however they came into the books. */
interface KeyedDebits {
  readonly key: string;
  readonly transactions: number;
  /** Minor units, without fees. */
  readonly amount: string;
}

export interface BooksState {
  readonly orders: readonly BookedOrder[];
  readonly debits: readonly KeyedDebits[];
  /** What is wrong between payouts and the payments of the network. */
  readonly payoutFaults: readonly string[];
  readonly balances: ReadonlyMap<number, string>;
}

const ORDERS = `
  select description as "key", workspace_id::int as "workspaceId", id::float8 as id, account_id::float8 as "accountId",
         recipient_id::float8 as "recipientId", amount::text as amount
  from customer_order where description like $1`;

const DEBITS = `
  select description as "key", count(distinct transaction_id)::int as transactions, sum(amount)::text as amount
  from transfer
  where description like $1 and direction = 'debit' and type <> 'fee'
  group by description`;

/** Each payout has at most one payment at the network, and exactly one once it is settled. */
const PAYOUT_FAULTS = `
  select format('payout %s of workspace %s is %s and has %s payments', p.transaction_id, p.workspace_id, p.status, count(r.key)) as fault
  from payout p
  join transfer t on (t.workspace_id, t.transaction_id) = (p.workspace_id, p.transaction_id)
    and t.direction = 'debit' and t.type <> 'fee'
  left join sandbox_rail_payment r
    on (split_part(r.key, '-', 2), split_part(r.key, '-', 3)) = (p.workspace_id::text, p.transaction_id::text)
  where t.description like $1
  group by p.workspace_id, p.transaction_id
  having count(r.key) > 1 or (count(r.key) = 0 and p.status in ('submitted', 'settled')) or bool_or(r.amount <> t.amount)`;

const BALANCES = `select id::float8 as id, balance::text as balance from account where kind = 'customer'`;

export async function readBooks(servers: readonly Server[], prefix: string): Promise<BooksState> {
  const like = [`${prefix}-%`];
  const each = async <Row extends object>(text: string, values: readonly unknown[] = like) =>
    (await Promise.all(servers.map((server) => server.query<Row>(text, values)))).flat();
  const balances = await each<{ id: number; balance: string }>(BALANCES, []);
  return {
    orders: await each<BookedOrder>(ORDERS),
    debits: await each<KeyedDebits>(DEBITS),
    payoutFaults: (await each<{ fault: string }>(PAYOUT_FAULTS)).map(({ fault }) => fault),
    balances: new Map(balances.map(({ id, balance }) => [id, balance])),
  };
}

const PAYMENT_KEY = `concat_ws('-', 'payout', p.workspace_id, p.transaction_id, p.key_nonce)`;

/** The keys of payments at the network that no payout of the books has. */
export async function strayPayments(server: Server): Promise<string[]> {
  const rows = await server.query<{ key: string }>(
    `select r.key from sandbox_rail_payment r where not exists (select from payout p where ${PAYMENT_KEY} = r.key)`,
  );
  return rows.map(({ key }) => key).sort();
}

export function checkOrders(operations: readonly Operation[], books: BooksState): Violation[] {
  const orders = new Map<string, BookedOrder[]>();
  for (const order of books.orders) orders.set(order.key, [...(orders.get(order.key) ?? []), order]);
  const debits = new Map(books.debits.map((debit) => [debit.key, debit]));
  const known = new Set(operations.map(({ key }) => key));
  const stray = [...new Set([...orders.keys(), ...debits.keys()])].filter((key) => !known.has(key));
  return [
    ...operations.flatMap((one) => [
      ...checkOrder(one, orders.get(one.key) ?? []),
      ...checkDebit(one, debits.get(one.key)),
      ...checkResponses(one),
    ]),
    ...violationsOf(
      'stray-orders',
      stray.map((key) => `${key} was carried out and never sent`),
    ),
  ];
}

function checkOrder(operation: Operation, orders: readonly BookedOrder[]): Violation[] {
  const { key, outcome, orderIds } = operation;
  if (orders.length > 1) return violationsOf('one-order-per-key', [`${key} has ${orders.length} orders`]);
  const [order] = orders;
  if (outcome === 'refused') {
    return order ? violationsOf('refused', [`${key} was refused, and order ${order.id} was carried out`]) : [];
  }
  if (order === undefined) {
    return outcome === 'ok' ? violationsOf('acknowledged', [`${key} was acknowledged, and has no order`]) : [];
  }
  const [acknowledged = order.id] = orderIds;
  if (acknowledged !== order.id) {
    return violationsOf('acknowledged', [`${key} was acknowledged as order ${acknowledged}, and is ${order.id}`]);
  }
  const fields = ['workspaceId', 'accountId', 'recipientId', 'amount'] as const;
  const differs = fields.filter((field) => order[field] !== operation[field]);
  if (differs.length === 0) return [];
  return violationsOf('acknowledged', [`${key} differs from what was sent in ${differs.join(', ')}`]);
}

/**
 * An instant order is executed with its placement, so an order and its one debit exist together or not at all. One that needs approvals
 * has at most one debit.
 */
function checkDebit({ key, outcome, amount, needsApproval }: Operation, debit: KeyedDebits | undefined): Violation[] {
  if (debit === undefined) {
    return outcome === 'ok' && !needsApproval
      ? violationsOf('acknowledged', [`${key} was acknowledged, and moved no money`])
      : [];
  }
  if (debit.transactions > 1)
    return violationsOf('one-order-per-key', [`${key} moved money ${debit.transactions} times`]);
  if (outcome === 'refused') return violationsOf('refused', [`${key} was refused, and moved ${debit.amount}`]);
  return debit.amount === amount ? [] : violationsOf('acknowledged', [`${key} moved ${debit.amount}, not ${amount}`]);
}

function checkResponses({ key, orderIds, digests }: Operation): Violation[] {
  if (orderIds.length > 1) {
    return violationsOf('one-order-per-key', [`${key} was acknowledged as orders ${orderIds.join(' and ')}`]);
  }
  return new Set(digests).size > 1
    ? violationsOf('same-response', [`${key} was acknowledged with different bodies`])
    : [];
}

/** The balance of an account that only its client pays from is what was funded minus every order in the books, and fees of payouts. */
export function checkOwnedBalances(
  owned: readonly { readonly id: number }[],
  operations: readonly Operation[],
  books: BooksState,
): Violation[] {
  const inBooks = new Set(books.orders.map(({ key }) => key));
  return owned.flatMap(({ id }) => {
    const spent = operations.filter(({ accountId, key }) => accountId === id && inBooks.has(key));
    const expected = spent.reduce(
      (left, { amount, isPayout }) =>
        subtract(subtract(left, parseTransferAmount(amount)), isPayout ? PAYOUT_FEE : minorUnits(0n)),
      FUNDS,
    );
    const actual = books.balances.get(id) ?? 'nothing';
    return actual === String(expected)
      ? []
      : violationsOf('balances', [`account ${id} holds ${actual}, and ${expected} is due`]);
  });
}
