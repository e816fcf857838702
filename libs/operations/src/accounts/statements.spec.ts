import * as fc from 'fast-check';
import {
  type AccountId,
  fromBalanceAmount,
  type Scope,
  type Statement,
  type Transaction,
  type WorkspaceId,
} from '@banking/domain';
import { reasonOf, testOrProve } from '@banking/postgres/testing';
import { expectWellFormed } from '../testing/order-world.js';
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

describe('an account statement', () => {
  let eve: Scope;

  beforeAll(async () => {
    eve = { workspaceId: given.world.demo.workspaces['Southwind Imports'] as WorkspaceId };
  });

  const euro = () => given.world.demo.accounts['Northwind Trading EUR'] as AccountId;

  it('has the fields of the transfers and of the account', async () => {
    const statement = await given.read(euro(), EVER.valueDate);
    const { items } = await given.service.listTransfers(given.scope, { accountId: euro(), limit: 500 });

    expectWellFormed(statement);
    expect(statement).toMatchObject({ ...EVER.valueDate, basis: 'valueDate' });
    const account = await given.service.getAccount(given.scope, { accountId: euro() });
    const { id, name, alias, code } = account;
    expect(statement.edges.account).toEqual({ id, name, alias, code, edges: { currency: account.edges.currency } });
    expect(closing(statement)).toBe(fromBalanceAmount(account.edges.balances[0]!.amount));
    const linksOf = ({ orderID, returnOf, returnedBy }: Transaction) => ({
      ...(orderID && { orderID }),
      ...(returnOf && { returnOf }),
      ...(returnedBy && { returnedBy }),
    });
    const told = items.map(({ edges, updatedAt: _, ...transfer }) => ({
      ...transfer,
      transactionID: edges.transaction?.id,
      ...linksOf(edges.transaction!),
      ...(edges.recipient && { recipientName: edges.recipient.name }),
      valueDate: expect.stringMatching(/^\d{4}-\d\d-\d\d$/) as unknown,
      balanceAfter: edges.balance?.amount,
    }));
    expect([...statement.movements].sort((a, b) => b.id - a.id)).toEqual(told.sort((a, b) => b.id - a.id));
    expect(statement.movements.filter(({ recipientName }) => recipientName).length).toBeGreaterThan(1);
  });

  it('opens and closes with the same balance in an empty period', async () => {
    const { movements, createdAt } = await given.read(euro(), EVER.booking).then(({ movements: all }) => ({
      movements: all,
      createdAt: all[1]!.createdAt,
    }));

    expect(await given.read(euro(), { from: createdAt, to: createdAt })).toMatchObject({
      openingBalance: movements[0]!.balanceAfter,
      closingBalance: movements[0]!.balanceAfter,
      movements: [],
    });
    expect(await given.read(euro(), { from: '2000-01-01', to: '2000-01-01' })).toMatchObject({
      openingBalance: 0,
      movements: [],
    });
  });

  it('includes `from`, excludes `to`, and accepts each offset', async () => {
    const { movements } = await given.read(euro(), EVER.booking);
    const [from, to] = [movements[1]!.createdAt, movements.at(-1)!.createdAt];
    const east = (instant: string) =>
      `${new Date(Date.parse(instant) + 3_600_000).toISOString().slice(0, 19)}${instant.slice(19, -1)}+01:00`;

    const there = await given.read(euro(), { from: east(from), to: east(to) });

    expect(there.movements).toEqual((await given.read(euro(), { from, to })).movements);
    expect(there.movements.map(({ id }) => id)).toContain(movements[1]!.id);
    expect(there.movements.map(({ id }) => id)).not.toContain(movements.at(-1)!.id);
    expect(there).toMatchObject({ from: east(from), to: east(to) });
  });

  it('exists for a disabled account and for one without movements', async () => {
    const accountId = await given.openEuro();
    await given.service.changeAccount(given.scope, { accountId, status: 'disabled' });

    for (const period of Object.values(EVER)) {
      expect(await given.read(accountId, period)).toMatchObject({
        openingBalance: 0,
        closingBalance: 0,
        movements: [],
      });
    }
  });

  it('is of one instant while money moves', async () => {
    const accountId = await given.book([]);
    const fund = () => given.service.fundAccount(given.scope, { accountId, amount: '7' as never });

    const found = await Promise.all(
      Array.from({ length: 24 }, async (_, index) => {
        if (index % 2 === 0) return fund().then(() => undefined);
        return given.read(accountId, index % 4 === 1 ? EVER.booking : EVER.valueDate);
      }),
    );

    found.filter((statement) => statement !== undefined).forEach(expectToAddUp);
    expect(closing(await given.read(accountId, EVER.booking))).toBe(100_084n);
  });

  it('has a next page if one movement more exists than a page holds', async () => {
    const accountId = await given.openEuro();
    const bookedAt = `timestamptz '2026-01-01Z' + (n / 10)::int * interval '1 day'`;
    await bookMany(given.world, { accountId, count: 500, bookedAt });

    for (const period of Object.values(EVER)) {
      const pages = await given.readPages(accountId, { ...period, limit: 500 });
      expectToAddUp(joined(pages));
      expect(pages.map(({ movements }) => movements.length)).toEqual([500]);
      expect(pages[0]).not.toHaveProperty('next');
      expect((await given.readPages(accountId, period)).map(({ movements }) => movements.length)).toEqual(
        Array<number>(5).fill(100),
      );
    }
    await bookMany(given.world, { accountId, count: 1 });
    for (const period of Object.values(EVER)) {
      const pages = await given.readPages(accountId, { ...period, limit: 500 });
      expectToAddUp(joined(pages));
      expect(pages.map(({ movements }) => movements.length)).toEqual([500, 1]);
    }
    expect((await given.read(accountId, { from: '2026-01-10', to: '2026-01-11' })).movements).toHaveLength(10);
  });

  it.each([0, 501, 1.5, -1, Number.NaN])('is refused with a limit of %s', async (limit) => {
    expect(await reasonOf(given.read(euro(), { ...EVER.booking, limit }))).toBe('limit_invalid');
  });

  it.each(['booking', 'valueDate'] as const)('refuses by %s a cursor for anything but the next page', async (basis) => {
    const { next = '' } = await given.read(euro(), { ...EVER[basis], limit: 1 });
    const other = EVER[basis === 'booking' ? 'valueDate' : 'booking'];
    const another = given.world.demo.accounts['Northwind Trading USD'] as AccountId;
    const list = await given.service.listTransfers(given.scope, { accountId: euro(), limit: 1 });
    const to = basis === 'booking' ? '2100-01-01T00:00:00.0Z' : '2100-01-02';

    expect((await given.read(euro(), { ...EVER[basis], limit: 2, cursor: next })).movements).toHaveLength(2);
    for (const refused of [
      given.read(euro(), { ...other, cursor: next }),
      given.read(euro(), { ...EVER[basis], to, cursor: next }),
      given.read(another, { ...EVER[basis], cursor: next }),
      given.service.getStatement(eve, { accountId: euro(), ...EVER[basis], cursor: next }),
      given.read(euro(), { ...EVER[basis], cursor: `${next.slice(0, -1)}${next.endsWith('A') ? 'B' : 'A'}` }),
      given.read(euro(), { ...EVER[basis], cursor: list.next }),
      given.read(euro(), { ...EVER[basis], cursor: '' }),
    ]) {
      expect(await reasonOf(refused)).toBe('cursor_invalid');
    }
  });

  it.each([
    ['2026-11-21T09:30:00', '2026-11-22T00:00:00Z', 'from'],
    ['2026-02-30', '2026-03-01', 'from'],
    ['0000-01-01', '2026-03-01', 'from'],
    ['2026-03-01', 'tomorrow', 'to'],
    ['2026-03-01', '2026-03-02T00:00:00Z', 'to'],
    ['2026-03-02', '2026-03-01', 'from'],
    ['2026-03-01T00:00:00.0000002Z', '2026-03-01T00:00:00.0000001Z', 'from'],
    ['2026-03-01T00:00:00+01:00', '2026-03-01T00:00:00+02:00', 'from'],
  ])('is refused from %s to %s for %s', async (from, to, path) => {
    await expect(given.read(euro(), { from, to })).rejects.toMatchObject({
      reason: 'timestamp_invalid',
      details: [{ path, reason: 'timestamp_invalid' }],
    });
  });

  it.each(['booking', 'valueDate'] as const)('is not found by %s in another workspace', async (basis) => {
    expect(await reasonOf(given.service.getStatement(eve, { accountId: euro(), ...EVER[basis] }))).toBe(
      'account_not_found',
    );
    const { rows } = await given.world.owner.query<{ id: string }>(
      `select id::text from banking.account where kind = 'settlement' and workspace_id = $1`,
      [given.workspaceId],
    );
    expect(await reasonOf(given.read(Number(rows[0]!.id) as AccountId, EVER[basis]))).toBe('account_not_found');
  });
});

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

/** The statements between each two of these instants or days. */
async function readParts(accountId: AccountId, ends: readonly string[]): Promise<Statement[]> {
  const parts: Statement[] = [];
  for (const [index, to] of ends.slice(1).entries())
    parts.push(await given.read(accountId, { from: ends[index]!, to }));
  return parts;
}

function expectToContinueEachOther(parts: readonly Statement[]): void {
  parts.forEach(expectToAddUp);
  expect(parts.slice(1).map(opening)).toEqual(parts.slice(0, -1).map(closing));
}

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
          const parts = await readParts(accountId, ends);

          expectToAddUp(whole);
          expectToContinueEachOther(parts);
          expect(parts.flatMap(({ movements }) => movements)).toEqual(whole.movements);
          expect([opening(whole), whole.movements.length, whole.basis]).toEqual([0n, list.length + 1, basis]);
        }
      }),
      { numRuns: testOrProve(6, 25) },
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
      { numRuns: testOrProve(5, 15) },
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
      { numRuns: testOrProve(4, 10) },
    );
  });
});

describe('statements of an account whose bookings began on a clock that was an hour ahead', () => {
  it('continue each other at each time of it, before the clock and after it', async () => {
    const accountId = await given.book([]);
    const bookedAt = `statement_timestamp() + interval '1 hour' + n * interval '1 minute'`;
    const { rows } = await given.world.owner.query<{ now: string }>('select rfc3339(clock_timestamp()) as now');
    await bookMany(given.world, { accountId, count: 3, bookedAt });
    await given.bookMore(accountId, [
      { amount: 7, isCredit: false, isTogether: false },
      { amount: 5, isCredit: true, isTogether: true },
      { amount: 3, isCredit: false, isTogether: false },
    ]);
    await given.service.fundAccount(given.scope, { accountId, amount: '9' as never });

    const whole = await given.read(accountId, EVER.booking);
    const times = whole.movements.map(({ createdAt }) => createdAt as string);
    expect([...times].sort()).toEqual(times);
    expect(new Set(times).size).toBe(8);
    const ends = [EVER.booking.from, ...times, rows[0]!.now, EVER.booking.to].sort();
    const parts = await readParts(accountId, ends);

    expectToContinueEachOther(parts);
    expect(parts.flatMap(({ movements }) => movements)).toEqual(whole.movements);
    for (const { from, to, movements } of parts) {
      expect(movements.filter(({ createdAt }) => createdAt < from || createdAt >= to)).toEqual([]);
    }
  });
});
