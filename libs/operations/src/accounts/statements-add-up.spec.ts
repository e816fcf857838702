import * as fc from 'fast-check';
import type { Statement } from '@banking/domain';
import { bookMany } from '../testing/many-movements.js';
import { closing, dayOf, EVER, expectToAddUp, joined, opening, statementWorld } from '../testing/statements.js';

let given: Awaited<ReturnType<typeof statementWorld>>;

beforeAll(async () => {
  given = await statementWorld();
});
afterAll(() => given.world.close());

const bookings = fc.array(
  fc.record({
    amount: fc.integer({ min: 1, max: 1_000 }),
    isCredit: fc.boolean(),
    day: fc.integer({ min: 1, max: 6 }),
    isTogether: fc.boolean(),
  }),
  { minLength: 1, maxLength: 12 },
);

/** Long series of bookings in one INSERT, whose value dates go up and down. */
const HEAVY = [
  `date '2026-03-20' - (n % 17)::int`,
  `date '2026-03-01' + (n * 7919 % 28)::int`,
  `date '2026-03-28' - (n / 40)::int`,
  `case when n = 1 then date '2099-01-01' else date '2026-03-01' + (n / 40)::int end`,
];

describe.each(HEAVY)('statements of many movements whose value date is %s', (valueDate) => {
  it('add up to the transactions in each of consecutive periods, in the order of days', async () => {
    const accountId = await given.book([]);
    for (const count of [600, 400]) await bookMany(given.world, { accountId, count, valueDate });
    const { rows } = await given.world.owner.query<{ id: string; day: string; amount: bigint }>(
      `select t.id::text, x.value_date::text as day, case t.direction when 'credit' then t.amount else -t.amount end as amount
       from banking.transfer t join banking.transaction x using (workspace_id) where x.id = t.transaction_id and t.account_id = $1
       order by x.value_date, t.account_version`,
      [accountId],
    );
    const ends = ['2000-01-01', ...Array.from({ length: 29 }, (_, at) => dayOf(at + 1)), '2099-01-01', '2099-01-02'];

    for (const [at, to] of ends.slice(1).entries()) {
      const from = ends[at]!;
      const statement = joined(await given.readPages(accountId, { from, to, limit: 37 }));

      expectToAddUp(statement);
      expect(opening(statement)).toBe(
        rows.filter(({ day }) => day < from).reduce((sum, { amount }) => sum + amount, 0n),
      );
      expect(statement.movements.map(({ id, valueDate: day }) => ({ id: String(id), day }))).toEqual(
        rows.filter(({ day }) => day >= from && day < to).map(({ id, day }) => ({ id, day })),
      );
    }
  });
});

describe('statements of any bookings with value dates in any order', () => {
  it('add up by both bases, and consecutive periods make up the statement of the whole period', async () => {
    await fc.assert(
      fc.asyncProperty(bookings, fc.array(fc.nat(7), { minLength: 2, maxLength: 4 }), async (list, cuts) => {
        const accountId = await given.book(list);
        const byBooking = await given.read(accountId, EVER.booking);
        const times = [EVER.booking.from, ...byBooking.movements.map(({ createdAt }) => createdAt as string)];
        const inOrder = [...cuts].sort((a, b) => a - b);
        const periods = {
          booking: [EVER.booking.from, ...inOrder.map((cut) => times[cut % times.length]!).sort(), EVER.booking.to],
          valueDate: [EVER.valueDate.from, ...inOrder.map((cut) => dayOf(cut + 1)), EVER.valueDate.to],
        };
        for (const basis of ['booking', 'valueDate'] as const) {
          const whole = await given.read(accountId, EVER[basis]);
          const ends = periods[basis];
          const parts: Statement[] = [];
          for (const [index, to] of ends.slice(1).entries())
            parts.push(await given.read(accountId, { from: ends[index]!, to }));

          expectToAddUp(whole);
          parts.forEach(expectToAddUp);
          expect(parts.slice(1).map(opening)).toEqual(parts.slice(0, -1).map(closing));
          expect(parts.flatMap(({ movements }) => movements)).toEqual(whole.movements);
          expect([opening(whole), whole.movements.length, whole.basis]).toEqual([0n, list.length + 1, basis]);
        }
      }),
      { numRuns: 25 },
    );
  });

  it('are as of their first page, by both bases, if money moves between pages', async () => {
    await fc.assert(
      fc.asyncProperty(
        bookings,
        bookings,
        fc.integer({ min: 1, max: 5 }),
        fc.nat(6),
        async (list, later, limit, day) => {
          const accountId = await given.book(list);
          const periods = [EVER.booking, EVER.valueDate, { from: dayOf(1), to: dayOf(day + 1) }];
          for (const period of periods) {
            const whole = await given.read(accountId, period);
            const more = [...later];

            const pages = await given.readPages(accountId, { ...period, limit }, () =>
              given.bookMore(accountId, more.splice(0, 1)),
            );

            expect(joined(pages)).toEqual(whole);
            expect(pages.slice(0, -1).map(({ movements }) => movements.length)).toEqual(
              pages.slice(1).map(() => limit),
            );
            expect(pages.map((page) => [opening(page), closing(page)])).toEqual(
              pages.map(() => [opening(whole), closing(whole)]),
            );
          }
        },
      ),
      { numRuns: 15 },
    );
  });

  it('have the order and balances of the account by booking, and the order of days by value date', async () => {
    await fc.assert(
      fc.asyncProperty(bookings, async (list) => {
        const accountId = await given.book(list);
        const { rows } = await given.world.owner.query<{ id: string; day: string; balance: string }>(
          `select t.id::text, x.value_date::text as day, t.balance_after::text as balance
           from banking.transfer t join banking.transaction x using (workspace_id) where x.id = t.transaction_id and t.account_id = $1
           order by t.account_version`,
          [accountId],
        );
        const lines = ({ movements }: Statement) =>
          movements.map(({ id, valueDate, balanceAfter }) => ({
            id: String(id),
            day: valueDate,
            balance: String(balanceAfter),
          }));
        const byDay = (await given.read(accountId, EVER.valueDate)).movements;
        const stable = rows
          .map((row, at) => ({ ...row, at }))
          .sort((a, b) => a.day.localeCompare(b.day) || a.at - b.at);

        expect(lines(await given.read(accountId, EVER.booking))).toEqual(rows);
        expect(byDay.map(({ id }) => String(id))).toEqual(stable.map(({ id }) => id));
      }),
      { numRuns: 10 },
    );
  });
});
