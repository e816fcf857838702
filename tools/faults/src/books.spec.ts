import { type BooksState, checkOrders, checkOwnedBalances } from './books.js';
import { type LoggedEvent, type Operation, operationsOf, type Outcome } from './client-log.js';

const SENT = { key: 'f1-0-1', workspaceId: 1, accountId: 7, recipientId: 9, amount: '250', isPayout: false };
const { isPayout: _, ...CONTENT } = SENT;
const ORDER = { ...CONTENT, id: 5 };
const DEBIT = { key: SENT.key, transactions: 1, amount: '250' };

const operation = (outcome: Outcome, more: Partial<Operation> = {}): Operation => ({
  ...{ ...SENT, outcome, attempts: 1, sentAt: 0, digests: [], orderIds: [] },
  ...(outcome === 'ok' && { orderIds: [5], digests: ['a'] }),
  ...more,
});
const state = (more: Partial<BooksState> = {}): BooksState => ({
  ...{ orders: [ORDER], debits: [DEBIT], payoutFaults: [], balances: new Map() },
  ...more,
});
const NOTHING = state({ orders: [], debits: [] });

describe('comparison of the client log with the orders', () => {
  it.each<[string, string[], Operation, BooksState]>([
    ['nothing for an acknowledged order that is there once', [], operation('ok'), state()],
    ['nothing for an unknown order that is there', [], operation('unknown'), state()],
    ['nothing for an unknown order that is not there', [], operation('unknown'), NOTHING],
    ['nothing for a refused order that is not there', [], operation('refused'), NOTHING],
    ['an acknowledged order that is lost', ['acknowledged', 'acknowledged'], operation('ok'), NOTHING],
    ['an order without its money', ['acknowledged'], operation('ok'), state({ debits: [] })],
    ['money without its order', ['acknowledged'], operation('ok'), state({ orders: [] })],
    ['another id than acknowledged', ['acknowledged'], operation('ok'), state({ orders: [{ ...ORDER, id: 6 }] })],
    ['another payer', ['acknowledged'], operation('unknown'), state({ orders: [{ ...ORDER, accountId: 8 }] })],
    ['another debit', ['acknowledged'], operation('unknown'), state({ debits: [{ ...DEBIT, amount: '500' }] })],
    ['two orders of a key', ['one-order-per-key'], operation('unknown'), state({ orders: [ORDER, ORDER] })],
    ['two debits of a key', ['one-order-per-key'], operation('ok'), state({ debits: [{ ...DEBIT, transactions: 2 }] })],
    ['two acknowledged ids', ['one-order-per-key'], operation('ok', { orderIds: [5, 6] }), state()],
    ['two bodies', ['same-response'], operation('ok', { digests: ['a', 'b'] }), state()],
    ['a refused order that is there', ['refused', 'refused'], operation('refused'), state()],
  ])('reports %s', (_name, checks, sent, books) => {
    expect(checkOrders([sent], books).map(({ check }) => check)).toEqual(checks);
  });

  it('reports an order that was never sent', () => {
    expect(checkOrders([], state())).toMatchObject([{ check: 'stray-orders' }]);
  });

  it('reports a balance that is not what was funded minus the orders in the books', () => {
    const check = (balance: string, books: BooksState) =>
      checkOwnedBalances([{ id: 7 }], [operation('unknown')], { ...books, balances: new Map([[7, balance]]) });

    expect(check('999999750', state())).toEqual([]);
    expect(check('1000000000', NOTHING)).toEqual([]);
    expect(check('1000000000', state())).toMatchObject([{ check: 'balances' }]);
  });
});

describe('outcome of an order with several attempts', () => {
  const events = (...outcomes: readonly (Outcome | undefined)[]): LoggedEvent[] =>
    outcomes.flatMap((outcome, attempt): LoggedEvent[] => [
      { event: 'send', ...SENT, attempt, api: 0, at: 0 },
      ...(outcome === undefined ? [] : [{ event: 'response', key: SENT.key, attempt, outcome, at: 1 } as const]),
    ]);

  it.each<[Outcome, readonly (Outcome | undefined)[]]>([
    ['ok', ['unknown', 'ok']],
    ['refused', ['refused', 'refused']],
    ['unknown', [undefined]],
    // The first attempt may still be carried out.
    ['unknown', ['unknown', 'refused']],
    ['unknown', [undefined, 'refused']],
  ])('is %s for %j', (outcome, attempts) => {
    expect(operationsOf(events(...attempts))).toMatchObject([{ outcome, attempts: attempts.length }]);
  });
});
