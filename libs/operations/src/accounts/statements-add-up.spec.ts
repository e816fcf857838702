import * as fc from 'fast-check';
import type { Statement } from '@banking/domain';
import {
  bookMany,
  closing,
  dayOf,
  EVER,
  expectToAddUp,
  joined,
  opening,
  statementWorld,
} from '../testing/statements.js';

let given: Awaited<ReturnType<typeof statementWorld>>;

beforeAll(async () => {
  given = await statementWorld();
});
afterAll(() => given.world.close());

const bookings = fc.array(
  fc.record({
    amount: fc.integer({ min: 1, max: 1_000 }),
    isCredit: fc.boolean(),
    isTogether: fc.boolean(),
  }),
  { minLength: 1, maxLength: 12 },
);

/** Times of long series of bookings, in March 2026: through the days, all at midnight, most of them on one day. */
const HEAVY = [
  `timestamptz '2026-03-01Z' + n * interval '40 minutes'`,
  `timestamptz '2026-03-01Z' + (n / 40)::int * interval '1 day'`,
  `case when n < 990 then timestamptz '2026-03-02Z' + n * interval '1 second' else timestamptz '2026-03-20Z' + n * interval '1 hour' end`,
];

describe.each(HEAVY)('statements of many movements booked at %s', (bookedAt) => {
  it('add up to the transfers in each of consecutive periods of days', async () => {
    const accountId = await given.openEuro();
    await bookMany(given.world, { accountId, count: 1_000, bookedAt });
    const { rows } = await given.world.owner.query<{ id: string; day: string; amount: bigint }>(
      `select id::text, (created_at at time zone 'UTC')::date::text as day, amount from banking.transfer
       where account_id = $1 order by account_version`,
      [accountId],
    );
    const ends = ['2000-01-01', ...Array.from({ length: 29 }, (_, at) => dayOf(at + 1)), '2026-05-01', '2100-01-01'];

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

describe('statements of any bookings', () => {
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
      fc.asyncProperty(bookings, bookings, fc.integer({ min: 1, max: 5 }), async (list, later, limit) => {
        const accountId = await given.book(list);
        for (const period of Object.values(EVER)) {
          const whole = await given.read(accountId, period);
          const more = [...later];

          const pages = await given.readPages(accountId, { ...period, limit }, () =>
            given.bookMore(accountId, more.splice(0, 1)),
          );

          expect(joined(pages)).toEqual(whole);
          expect(pages.slice(0, -1).map(({ movements }) => movements.length)).toEqual(pages.slice(1).map(() => limit));
          expect(pages.map((page) => [opening(page), closing(page)])).toEqual(
            pages.map(() => [opening(whole), closing(whole)]),
          );
        }
      }),
      { numRuns: 15 },
    );
  });

  it('have the order and balances of the account, by both bases', async () => {
    await fc.assert(
      fc.asyncProperty(bookings, async (list) => {
        const accountId = await given.book(list);
        const { rows } = await given.world.owner.query<{ id: string; day: string; balance: string }>(
          `select id::text, (created_at at time zone 'UTC')::date::text as day, balance_after::text as balance
           from banking.transfer where account_id = $1 order by account_version`,
          [accountId],
        );
        for (const period of Object.values(EVER)) {
          const { movements } = await given.read(accountId, period);
          expect(
            movements.map(({ id, valueDate, balanceAfter }) => ({
              id: String(id),
              day: valueDate,
              balance: String(balanceAfter),
            })),
          ).toEqual(rows);
        }
      }),
      { numRuns: 10 },
    );
  });
});
