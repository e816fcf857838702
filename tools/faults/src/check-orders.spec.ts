import { minorUnits } from '@banking/domain';
import { checkOrders, checkOwnedBalances, checkPayouts, checkReads } from './check-orders.js';
import type { Outcome } from './client-log.js';
import type { Operation } from './history.js';
import type { BooksState } from './read-books.js';

const SENT = { key: 'f1-0-1', workspaceId: 1, accountId: 7, recipientId: 9, amount: '250' };
const ORDER = { ...SENT, id: 5, transactions: 1 };
const DEBIT = { key: SENT.key, transactions: 1, amount: '250' };

const operation = (outcome: Outcome, more: Partial<Operation> = {}): Operation => ({
  ...{ ...SENT, outcome, attempts: 1, digests: [], orderIds: [] },
  ...(outcome === 'ok' && { orderId: 5, orderIds: [5], digests: ['a'] }),
  ...more,
});

const state = (more: Partial<BooksState> = {}): BooksState => ({
  ...{ orders: [ORDER], debits: [DEBIT], payouts: [], strayPayments: [], balances: new Map() },
  ...more,
});
const NOTHING = state({ orders: [], debits: [] });

const checksOf = (...args: Parameters<typeof checkOrders>) => checkOrders(...args).map(({ check }) => check);

describe('comparison of the client log with the orders', () => {
  it.each<[string, Operation, BooksState]>([
    ['an acknowledged order that is there once', operation('ok'), state()],
    ['an unknown order that is there', operation('unknown'), state()],
    ['an unknown order that is not there', operation('unknown'), NOTHING],
    ['a refused order that is not there', operation('refused'), NOTHING],
  ])('accepts %s', (_, sent, books) => {
    expect(checkOrders([sent], books)).toEqual([]);
  });

  it.each<[string, string[], Operation, BooksState]>([
    ['an acknowledged order that is lost', ['acknowledged', 'acknowledged'], operation('ok'), NOTHING],
    ['an order without its money', ['acknowledged'], operation('ok'), state({ debits: [] })],
    ['money without its order', ['acknowledged'], operation('ok'), state({ orders: [] })],
    ['another id than acknowledged', ['acknowledged'], operation('ok'), state({ orders: [{ ...ORDER, id: 6 }] })],
    ['another amount', ['acknowledged'], operation('ok'), state({ orders: [{ ...ORDER, amount: '251' }] })],
    ['another payer', ['acknowledged'], operation('unknown'), state({ orders: [{ ...ORDER, accountId: 8 }] })],
    ['another debit', ['acknowledged'], operation('unknown'), state({ debits: [{ ...DEBIT, amount: '500' }] })],
    [
      'two orders of a key',
      ['one-order-per-key'],
      operation('unknown'),
      state({ orders: [ORDER, { ...ORDER, id: 6 }] }),
    ],
    ['two debits of a key', ['one-order-per-key'], operation('ok'), state({ debits: [{ ...DEBIT, transactions: 2 }] })],
    ['two acknowledged ids', ['one-order-per-key'], operation('ok', { orderIds: [5, 6] }), state()],
    ['two bodies', ['same-response'], operation('ok', { digests: ['a', 'b'] }), state()],
    ['a refused order that is there', ['refused', 'refused'], operation('refused'), state()],
    ['a refused order that moved money', ['refused'], operation('refused'), state({ orders: [] })],
  ])('reports %s', (_, checks, sent, books) => {
    expect(checksOf([sent], books)).toEqual(checks);
  });

  it('reports an order that was never sent', () => {
    expect(checksOf([], state())).toEqual(['stray-orders']);
    expect(checksOf([], state({ orders: [] }))).toEqual(['stray-orders']);
  });
});

describe('balance of an account that only its client pays from', () => {
  const check = (balance: string | undefined, books = state(), fee = 0n) => {
    const balances = new Map(balance === undefined ? [] : [[7, balance] as const]);
    return checkOwnedBalances(
      [{ id: 7, funded: minorUnits(1_000n) }],
      [operation('unknown')],
      { ...books, balances },
      () => minorUnits(fee),
    );
  };

  it('is what was funded minus the orders in the books', () => {
    expect(check('750')).toEqual([]);
    expect(check('740', state(), 10n)).toEqual([]);
    expect(check('1000', NOTHING)).toEqual([]);
  });

  it.each(['749', '1000', '500', undefined])('is reported as %s', (balance) => {
    expect(check(balance)).toMatchObject([{ check: 'balances' }]);
  });
});

describe('comparison of responses', () => {
  const read = { event: 'read', check: 'reads', subject: '/accounts/7', api: 1, expected: '750' } as const;

  it('reports a balance from before the acknowledgement, by the check that the client named', () => {
    expect(checkReads([{ ...read, actual: '750' }])).toEqual([]);
    expect(checkReads([{ ...read, actual: '1000' }])).toMatchObject([{ check: 'reads' }]);
    expect(checkReads([{ ...read, check: 'outcome', actual: 'status 404' }])).toMatchObject([{ check: 'outcome' }]);
  });
});

describe('comparison of payouts with the network', () => {
  const payout = { name: '1 5', status: 'settled', payments: 1, amountsDiffer: false };
  const check = (more: Partial<typeof payout>, strayPayments: string[] = []) =>
    checkPayouts(state({ payouts: [{ ...payout, ...more }], strayPayments })).map(({ check: name }) => name);

  it('accepts one payment, and none before the payout is sent', () => {
    expect(check({})).toEqual([]);
    expect(check({ status: 'due', payments: 0 })).toEqual([]);
  });

  it('reports two payments, none for a settled payout, another amount, and a payment without a payout', () => {
    expect(check({ payments: 2 })).toEqual(['payouts']);
    expect(check({ payments: 0 })).toEqual(['payouts']);
    expect(check({ amountsDiffer: true })).toEqual(['payouts']);
    expect(check({}, ['payout-1-6'])).toEqual(['payouts']);
  });
});
