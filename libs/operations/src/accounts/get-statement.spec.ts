import { fromBalanceAmount, type AccountId, type Scope, type Transaction, type WorkspaceId } from '@banking/domain';
import { reasonOf } from '@banking/postgres/testing';
import { bookMany, closing, EVER, expectToAddUp, joined, statementWorld } from '../testing/statements.js';
import { expectWellFormed } from '../testing/order-world.js';

let given: Awaited<ReturnType<typeof statementWorld>>;
let eve: Scope;

beforeAll(async () => {
  given = await statementWorld();
  eve = { workspaceId: given.world.demo.workspaces['Southwind Imports'] as WorkspaceId };
});
afterAll(() => given.world.close());

const euro = () => given.world.demo.accounts['Northwind Trading EUR'] as AccountId;

describe('an account statement', () => {
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
