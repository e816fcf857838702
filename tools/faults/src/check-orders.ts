import { type MinorUnits, parseTransferAmount, subtract } from '@banking/domain';
import type { ReadEvent } from './client-log.js';
import type { Operation } from './history.js';
import type { BookedOrder, BooksState } from './read-books.js';

/** What a check found against a promise. */
export interface Violation {
  readonly check: CheckName;
  readonly detail: string;
}

export type CheckName =
  | 'acknowledged'
  | 'one-order-per-key'
  | 'same-response'
  | 'refused'
  | 'stray-orders'
  | 'balances'
  | 'reads'
  | 'payouts'
  | 'money'
  | 'below-zero'
  | 'books'
  | 'append-only'
  | 'events'
  | 'outcome'
  | 'processes'
  | 'deadlocks'
  | 'readiness'
  | 'response-time'
  | 'stops'
  | 'poison'
  | 'claims'
  | 'secrets'
  | 'upstream'
  | 'growth'
  | 'starvation'
  | 'ids'
  | 'crossings'
  | 'moves'
  | 'old-cell'
  | 'webhooks';

/** Compares what the clients know with the final state of the database. */
export function checkOrders(operations: readonly Operation[], books: BooksState): Violation[] {
  const orders = new Map<string, BookedOrder[]>();
  for (const order of books.orders) orders.set(order.key, [...(orders.get(order.key) ?? []), order]);
  const debits = new Map(books.debits.map((debit) => [debit.key, debit]));
  const known = new Set(operations.map(({ key }) => key));
  const stray = [...new Set([...orders.keys(), ...debits.keys()])].filter((key) => !known.has(key));
  return [
    ...operations.flatMap((operation) => checkOperation(operation, orders.get(operation.key) ?? [])),
    ...operations.flatMap((operation) => checkDebits(operation, debits.get(operation.key))),
    ...operations.flatMap(checkResponses),
    ...stray.map((key): Violation => ({ check: 'stray-orders', detail: `${key} was carried out and never sent` })),
  ];
}

function checkOperation(operation: Operation, orders: readonly BookedOrder[]): Violation[] {
  const { key, outcome } = operation;
  if (orders.length > 1) return [{ check: 'one-order-per-key', detail: `${key} has ${orders.length} orders` }];
  const [order] = orders;
  if (outcome === 'refused') {
    return order ? [{ check: 'refused', detail: `${key} was refused, and order ${order.id} was carried out` }] : [];
  }
  if (order === undefined) {
    return outcome === 'ok' ? [{ check: 'acknowledged', detail: `${key} was acknowledged, and has no order` }] : [];
  }
  const differs = (['workspaceId', 'accountId', 'recipientId', 'amount'] as const).filter(
    (field) => order[field] !== operation[field],
  );
  if (operation.orderId !== undefined && operation.orderId !== order.id) {
    return [
      { check: 'acknowledged', detail: `${key} was acknowledged as order ${operation.orderId}, and is ${order.id}` },
    ];
  }
  if (differs.length > 0) {
    return [{ check: 'acknowledged', detail: `${key} differs from what was sent in ${differs.join(', ')}` }];
  }
  return [];
}

/** An instant order is executed with its placement, so an order and its one debit exist together or not at all. */
function checkDebits(
  { key, outcome, amount }: Operation,
  debit: { transactions: number; amount: string } | undefined,
): Violation[] {
  if (debit === undefined) {
    return outcome === 'ok' ? [{ check: 'acknowledged', detail: `${key} was acknowledged, and moved no money` }] : [];
  }
  if (debit.transactions > 1) {
    return [{ check: 'one-order-per-key', detail: `${key} moved money ${debit.transactions} times` }];
  }
  if (outcome === 'refused') return [{ check: 'refused', detail: `${key} was refused, and moved ${debit.amount}` }];
  return debit.amount === amount
    ? []
    : [{ check: 'acknowledged', detail: `${key} moved ${debit.amount}, not ${amount}` }];
}

function checkResponses({ key, orderIds, digests }: Operation): Violation[] {
  if (orderIds.length > 1) {
    return [{ check: 'one-order-per-key', detail: `${key} was acknowledged as orders ${orderIds.join(' and ')}` }];
  }
  return new Set(digests).size > 1
    ? [{ check: 'same-response', detail: `${key} was acknowledged with different bodies` }]
    : [];
}

/** An account that only its client pays from, and that receives nothing. */
export interface OwnedAccount {
  readonly id: number;
  readonly funded: MinorUnits;
}

/** The balance is what was funded minus every order in the books; fees are charged for payouts. */
export function checkOwnedBalances(
  owned: readonly OwnedAccount[],
  operations: readonly Operation[],
  books: BooksState,
  feeOf: (operation: Operation) => MinorUnits,
): Violation[] {
  const inBooks = new Set(books.orders.map(({ key }) => key));
  return owned.flatMap(({ id, funded }): Violation[] => {
    const spent = operations.filter(({ accountId, key }) => accountId === id && inBooks.has(key));
    const expected = spent.reduce(
      (left, order) => subtract(subtract(left, parseTransferAmount(order.amount)), feeOf(order)),
      funded,
    );
    const actual = books.balances.get(id);
    if (actual === String(expected)) return [];
    return [{ check: 'balances', detail: `account ${id} holds ${actual ?? 'nothing'}, and ${expected} is due` }];
  });
}

/** Compares each response that was read with what the client expected. */
export function checkReads(reads: readonly ReadEvent[]): Violation[] {
  return reads
    .filter(({ expected, actual }) => expected !== actual)
    .map(({ check, subject, api, expected, actual }) => ({
      check,
      detail: `${subject} through api-${api} gave ${actual}, and ${expected} was expected`,
    }));
}

/** Each payout has at most one payment at the network, and exactly one once it is settled. */
export function checkPayouts({ payouts, strayPayments }: BooksState): Violation[] {
  const found = payouts.flatMap(({ name, status, payments, amountsDiffer }) => {
    if (payments > 1) return [`payout ${name} has ${payments} payments`];
    if (payments === 0 && ['submitted', 'settled'].includes(status))
      return [`payout ${name} is ${status} without a payment`];
    return amountsDiffer ? [`payout ${name} was paid with another amount`] : [];
  });
  const stray = strayPayments.map((key) => `the network has a payment ${key} without a payout`);
  return [...found, ...stray].map((detail) => ({ check: 'payouts', detail }));
}
