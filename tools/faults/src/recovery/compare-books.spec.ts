import type { LogEvent } from '../client-log.js';
import type { BookedOrder, BooksState } from '../read-books.js';
import { compareBooks, type Moment } from './compare-books.js';

type Logged = LogEvent & { readonly at: number };

const CONTENT = { workspaceId: 1, accountId: 10, recipientId: 20, amount: '500' };
const idOf = (key: string) => Number(key.slice(1));

/** An order that is sent at a time and acknowledged one millisecond later. */
function acknowledged(key: string, at: number): Logged[] {
  return [
    { event: 'send', key, ...CONTENT, attempt: 1, api: 0, at },
    { event: 'response', key, attempt: 1, outcome: 'ok', status: 201, orderId: idOf(key), at: at + 1 },
  ];
}

function booksWith(...keys: readonly string[]): BooksState {
  const orders = keys.map((key): BookedOrder => ({ key, id: idOf(key), ...CONTENT, transactions: 1 }));
  const debits = keys.map((key) => ({ key, transactions: 1, amount: CONTENT.amount }));
  return { orders, debits, payouts: [], strayPayments: [], balances: new Map() };
}

const EVENTS = [...acknowledged('k1', 100), ...acknowledged('k2', 200), ...acknowledged('k3', 300)];
const compare = (books: BooksState, moment: Moment, events: readonly Logged[] = EVENTS) =>
  compareBooks(events, books, moment);

describe('compareBooks', () => {
  it('counts orders after the moment of the recovery as lost, without a violation', () => {
    const result = compare(booksWith('k1', 'k2'), { keptUntil: 250, lostFrom: 250 });

    expect(result).toMatchObject({ acknowledged: 3, lost: [{ key: 'k3' }], violations: [] });
    expect(result.kept.map(({ key }) => key)).toEqual(['k1', 'k2']);
  });

  it('allows either for an order during a backup', () => {
    const moment = { keptUntil: 150, lostFrom: 250 };

    expect(compare(booksWith('k1'), moment).violations).toEqual([]);
    expect(compare(booksWith('k1', 'k2'), moment).violations).toEqual([]);
  });

  it.each([
    ['a lost order that was acknowledged before the moment', booksWith('k2'), /^k1 was acknowledged before .+ lost$/],
    ['an order that was sent after the moment', booksWith('k1', 'k2', 'k3'), /^k3 was sent after .+ in the books$/],
    ['an order that no client sent', booksWith('k1', 'k2', 'k9'), /^k9 was carried out and never sent$/],
  ])('reports %s', (_what, books, words) => {
    const { violations } = compare(books, { keptUntil: 250, lostFrom: 250 });

    expect(violations.length).toBeGreaterThan(0);
    for (const violation of violations) expect(violation).toMatch(words);
  });

  it('reports a recovered order with another amount', () => {
    const books = booksWith('k1', 'k2');
    const [first, second] = books.orders as [BookedOrder, BookedOrder];
    const changed = { ...books, orders: [{ ...first, amount: '501' }, second] };

    expect(compare(changed, { keptUntil: 250, lostFrom: 250 }).violations).toEqual([
      'k1 differs from what was sent in amount',
    ]);
  });
});
