import * as fc from 'fast-check';
import type { Statement } from '@banking/domain';
import { closing, dayOf, EVER, expectToAddUp, opening, statementWorld } from './testing/statements.js';

let given: Awaited<ReturnType<typeof statementWorld>>;

beforeAll(async () => {
  given = await statementWorld();
});
afterAll(() => given.world.close());

const bookings = fc.array(
  fc.record({ amount: fc.integer({ min: 1, max: 1_000 }), isCredit: fc.boolean(), day: fc.integer({ min: 1, max: 6 }), isTogether: fc.boolean() }), // prettier-ignore
  { minLength: 1, maxLength: 12 },
);

describe('Given any bookings with value dates in any order', () => {
  it('When periods meet, Then each adds up, closes as the next opens, and together they are the whole, by both bases', async () => {
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

  it('When one is read by booking, Then its order and balances are those of the account; by value date, the days are in order', async () => {
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
          movements.map(({ id, valueDate, balanceAfter }) => ({ id: String(id), day: valueDate, balance: String(balanceAfter) })); // prettier-ignore
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
