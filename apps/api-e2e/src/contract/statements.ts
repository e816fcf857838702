import { BankingClient } from '@banking/client';
import {
  type AccountId,
  fromBalanceAmount,
  minorUnits,
  parseTransferAmount,
  type ProductId,
  type Statement,
  toTransferAmount,
  type WorkspaceId,
} from '@banking/domain';
import { sendRequest } from '../responses.js';
import { ADA, idOf, type Service } from '../service.js';
import { faultsIn } from './shapes.js';

export const EVER = [
  ['booking', { from: '2000-01-01T00:00:00Z', to: '2100-01-01T00:00:00+01:00' }],
  ['valueDate', { from: '2000-01-01', to: '2100-01-01' }],
] as const;

/** The sum of the movements of a statement, in digits. */
function addedUp({ openingBalance, movements }: Statement): string {
  const signed = movements.map(({ direction, amount }) =>
    direction === 'credit' ? parseTransferAmount(amount) : -parseTransferAmount(amount),
  );
  return String(signed.reduce((sum, amount) => sum + amount, fromBalanceAmount(openingBalance) as bigint));
}

/** Parses a table of RFC 4180 into records. @throws Error if it is malformed */
function recordsOf(csv: string): Record<string, string>[] {
  const rows: string[][] = [];
  let row: string[] = [];
  for (const [, quoted, plain, end = ''] of csv.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/g)) {
    row.push(quoted?.replaceAll('""', '"') ?? plain ?? '');
    if (end === ',') continue;
    rows.push(row);
    row = [];
  }
  const [names = [], ...records] = rows;
  if (row.length > 0 || rows.some(({ length }) => length !== names.length)) throw new Error('that is no table');
  return records.map((cells) => Object.fromEntries(cells.map((cell, index) => [names[index] ?? '', cell])));
}

export function statementsContract(provide: () => Service): void {
  const service = provide();
  const view = (workspace: string) =>
    new BankingClient({ baseUrl: service.url, token: () => service.tokenOf(ADA) }).workspace(
      idOf(service.world, 'workspaces', workspace) as WorkspaceId,
    );
  const euro = () => idOf(service.world, 'accounts', 'Northwind Trading EUR') as AccountId;
  const getStatement = (
    query: string,
    { accountId = euro() as number, workspace = 'Northwind Trading', accept = '*/*' } = {},
  ) =>
    sendRequest(service, `/accounts/${accountId}/statement?${query}`, {
      as: ADA,
      workspace: idOf(service.world, 'workspaces', workspace),
      headers: { accept },
    });
  const days = new URLSearchParams(EVER[1][1]).toString();

  /** A new account with these fundings. */
  const opened = async (alias: string, amounts: readonly bigint[] = []) => {
    const personal = view('Ada personal');
    const { resource } = await personal.accounts.open({ productID: 2 as ProductId, alias });
    for (const amount of amounts) {
      await personal.sandbox.fund({ accountId: resource.id, amount: toTransferAmount(minorUnits(amount)) });
    }
    return resource;
  };

  describe('statements', () => {
    it.each(EVER)('adds up to the balance of the account by %s', async (basis, period) => {
      const account = await view('Northwind Trading').accounts.get(euro());
      const statement = await view('Northwind Trading').accounts.statement(euro(), period);

      expect(faultsIn(statement, 'Statement')).toEqual([]);
      expect(statement).toMatchObject({ ...period, basis, openingBalance: 0 });
      expect(statement.closingBalance).toBe(account.edges.balances[0]?.amount);
      expect(addedUp(statement)).toBe(String(statement.closingBalance));
      expect(statement.movements.at(-1)?.balanceAfter).toBe(statement.closingBalance);
      const { id, name, alias, code } = account;
      expect(statement.edges).toEqual({
        account: { id, name, alias, code, edges: { currency: account.edges.currency } },
      });
    });

    it('shows each movement as the transfer of its id', async () => {
      const { movements } = await view('Northwind Trading').accounts.statement(euro(), EVER[0][1]);
      const payout = movements.find(({ type }) => type === 'payout');
      const transfer = await view('Northwind Trading').transfers.get(payout?.id ?? 0);

      const { amount, description, purpose, feeAmount, createdAt } = transfer;
      expect(payout).toMatchObject({ amount, description, purpose, feeAmount, createdAt });
      expect(payout?.recipientName).toBe(transfer.edges.recipient?.name);
      expect(payout?.transactionID).toBe(transfer.edges.transaction?.id);
      expect(payout?.balanceAfter).toBe(transfer.edges.balance?.amount);
    });

    it('closes a period with the opening balance of the next, and repeats no movement', async () => {
      const accountId = (await opened('Periods', [100n, 20n, 3n])).id;
      const read = (from: string, to: string) => view('Ada personal').accounts.statement(accountId, { from, to });
      const [start, end] = [EVER[0][1].from, EVER[0][1].to];
      const cut = (await read(start, end)).movements[1]?.createdAt ?? '';

      const [one, other] = [await read(start, cut), await read(cut, end)];

      expect([one, other].map(({ movements }) => movements.map(({ amount }) => amount))).toEqual([
        ['100'],
        ['20', '3'],
      ]);
      expect([one.openingBalance, one.closingBalance, other.openingBalance, other.closingBalance]).toEqual([
        0, 100, 100, 123,
      ]);
      expect(await read(cut, cut)).toMatchObject({ openingBalance: 100, closingBalance: 100, movements: [] });
    });

    it('returns statements of a disabled account', async () => {
      const { id } = await opened('Closed', [5n]);
      await view('Ada personal').accounts.change(id, { status: 'disabled' });

      const statement = await view('Ada personal').accounts.statement(id, EVER[1][1]);

      expect(statement).toMatchObject({ closingBalance: 5, movements: [{ amount: '5', type: 'funding' }] });
    });

    it('returns the same statement as CSV for any account name', async () => {
      const { id, code = '' } = await opened('=cmd|"/c calc"!A0, "mine"', [123_450n, 5n]);
      const { body } = await getStatement(days, { accountId: id, workspace: 'Ada personal' });
      const table = await getStatement(days, { accountId: id, workspace: 'Ada personal', accept: 'text/csv' });

      expect(table.status).toBe(200);
      expect(table.headers.get('content-type')).toBe('text/csv; charset=utf-8; header=present');
      expect(table.headers.get('content-disposition')).toBe(
        `attachment; filename="statement-${code}-2000-01-01-2100-01-01.csv"`,
      );
      expect(table.headers.get('vary')).toMatch(/accept/i);
      const [first, ...movements] = recordsOf(table.text);
      const last = movements.pop();
      const { movements: listed } = body as Statement;
      expect(first).toMatchObject({
        line: 'opening',
        amount: '0.00',
        balance: '0.00',
        accountAlias: `'=cmd|"/c calc"!A0, "mine"`,
      });
      expect(movements).toMatchObject(
        listed.map(({ id: transfer, transactionID, amount, createdAt, valueDate, balanceAfter }) => ({
          line: 'movement',
          id: String(transfer),
          transactionID: String(transactionID),
          amountMinorUnits: amount,
          createdAt,
          valueDate,
          balanceMinorUnits: String(balanceAfter),
        })),
      );
      expect(movements.map(({ amount }) => amount)).toEqual(['1234.50', '0.05']);
      expect(last).toMatchObject({ line: 'closing', valueDate: '2100-01-01', amount: '', balance: '1234.55' });
    });

    it('returns the same statement as camt.053', async () => {
      const { id: accountId, code = '' } = await opened('Messages <&>', [123_450n, 5n]);
      const { body } = await getStatement(days, { accountId, workspace: 'Ada personal' });
      const { status, headers, text } = await getStatement(days, {
        accountId,
        workspace: 'Ada personal',
        accept: 'application/xml',
      });

      expect(status).toBe(200);
      expect(headers.get('content-type')).toBe('application/xml; charset=utf-8');
      expect(headers.get('content-disposition')).toBe(
        `attachment; filename="statement-${code}-2000-01-01-2100-01-01.xml"`,
      );
      const valuesOf = (element: string) =>
        [...text.matchAll(new RegExp(`<${element}(?: Ccy="EUR")?>([^<]*)</${element}>`, 'g'))].map(
          ([, value]) => value,
        );
      const { movements, closingBalance } = body as Statement;
      expect(valuesOf('NtryRef')).toEqual(movements.map(({ id }) => String(id)));
      expect(valuesOf('Nm')).toContain('Messages &lt;&amp;&gt;');
      expect(closingBalance).toBe(123_455);
      expect([...new Set(valuesOf('Amt'))]).toEqual(['0.00', '1234.55', '1234.50', '0.05']);
      expect(text).toMatch(
        /^<\?xml version="1\.0" encoding="UTF-8"\?>\n<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt\.053\.001\.08">/,
      );
      expect(text).toMatch(/<\/Document>\n$/);
    });

    it('writes debits as negative numbers in CSV, and the column adds up to the closing balance', async () => {
      const { text } = await getStatement(days, { accept: 'text/csv' });
      const records = recordsOf(text);

      const total = records.reduce((sum, { amountMinorUnits = '' }) => sum + BigInt(amountMinorUnits), 0n);
      expect(String(total)).toBe(records.at(-1)?.['balanceMinorUnits']);
      expect(records.some(({ amount = '' }) => /^-\d+\.\d\d$/.test(amount))).toBe(true);
      expect(records.map(({ amount = '' }) => amount.replace('.', '').replace(/^(-?)0+(?=\d)/, '$1'))).toEqual(
        records.map(({ amountMinorUnits }) => amountMinorUnits),
      );
    });

    it.each([
      ['*/*', 'application/json'],
      ['application/json, text/csv', 'application/json'],
      ['text/csv;q=0.2, application/json;q=0.1', 'text/csv'],
      ['text/csv, */*;q=0.5', 'text/csv'],
      ['text/*', 'text/csv'],
      ['application/xml', 'application/xml'],
      ['application/xml, application/json;q=0.5', 'application/xml'],
      // A browser.
      ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 'application/json'],
    ])('negotiates %s as %s', async (accept, type) => {
      const { status, headers } = await getStatement(days, { accept });

      expect([status, headers.get('content-type')?.split(';', 1)[0]]).toEqual([200, type]);
      expect(headers.get('vary')).toMatch(/accept/i);
      expect(headers.has('content-disposition')).toBe(type !== 'application/json');
    });

    it('refuses other media types, and refuses in JSON', async () => {
      expect(await getStatement(days, { accept: 'application/pdf' })).toMatchObject({
        status: 406,
        body: { reason: 'not_acceptable' },
      });
      expect(await getStatement('from=x&to=y', { accept: 'text/csv' })).toMatchObject({
        status: 400,
        body: { reason: 'timestamp_invalid' },
      });
      expect(await sendRequest(service, '/apps', { as: ADA, headers: { accept: 'text/csv' } })).toMatchObject({
        status: 406,
      });
    });

    const DAY = '2026-11-01';
    const INSTANT = '2026-11-01T00:00:00Z';
    it.each([
      ['', 'timestamp_invalid', ['from', 'to']],
      [`from=${DAY}`, 'timestamp_invalid', ['to']],
      [`to=${DAY}`, 'timestamp_invalid', ['from']],
      [`from=${DAY}&to=`, 'timestamp_invalid', ['to']],
      [`from=${DAY}&from=${DAY}&to=${DAY}`, 'parameter_repeated', ['from']],
      [`from=2026-02-29&to=${DAY}`, 'timestamp_invalid', ['from']],
      [`from=0000-01-01&to=${DAY}`, 'timestamp_invalid', ['from']],
      [`from=0000-01-01T00:00:00Z&to=${INSTANT}`, 'timestamp_invalid', ['from']],
      ['from=2026-11-01T00:00:00&to=2026-11-02T00:00:00', 'timestamp_invalid', ['from', 'to']],
      ['from=1&to=infinity', 'timestamp_invalid', ['from', 'to']],
      [`from=${DAY}&to=2026-11-02T00:00:00Z`, 'timestamp_invalid', ['to']],
      ['from=2026-11-02&to=2026-11-01', 'timestamp_invalid', ['from']],
      ['from=2026-11-01T00:00:00Z&to=2026-11-01T00:30:00%2B01:00', 'timestamp_invalid', ['from']],
      [`from=${DAY}&to=${DAY}&limit=0`, 'limit_invalid', ['limit']],
      [`from=${DAY}&to=${DAY}&limit=501`, 'limit_invalid', ['limit']],
      [`from=${DAY}&to=${DAY}&limit=10&limit=20`, 'parameter_repeated', ['limit']],
      [`from=${DAY}&to=${DAY}&cursor=`, 'cursor_invalid', ['cursor']],
      [`from=${DAY}&to=${DAY}&colour=blue`, 'parameter_unknown', ['colour']],
    ])('refuses the query "%s" and names the parameter', async (query, reason, paths) => {
      const response = await getStatement(query);

      expect(response).toMatchObject({ status: 400, body: { reason } });
      expect((response.body as { details: { path: string }[] }).details.map(({ path }) => path).sort()).toEqual(paths);
    });

    it.each(['0001-01-01T00:00:00%2B14:00', '9999-12-31T23:59:59.999999999-14:00', '9999-12-31', '0001-01-01'])(
      'returns an empty statement for a period that begins and ends at %s',
      async (edge) => {
        expect(await getStatement(`from=${edge}&to=${edge}`)).toMatchObject({ status: 200, body: { movements: [] } });
      },
    );

    it('gives one response for an unknown resource and a resource of another workspace', async () => {
      const strip = (text: string) => text.replace(/"requestId":"[^"]*"/, '');

      const theirs = await getStatement(days, { workspace: 'Ada personal' });
      const unknown = await getStatement(days, { workspace: 'Ada personal', accountId: 999_999 });

      expect([theirs.status, strip(theirs.text)]).toEqual([404, strip(unknown.text)]);
      expect(theirs.body).toMatchObject({ reason: 'account_not_found' });
    });
  });
}

/** A statement with more movements than its limit. */
export function statementPagesContract(provide: () => Service): void {
  const service = provide();
  const idOfWorkspace = (name: string) => idOf(service.world, 'workspaces', name) as WorkspaceId;
  const personal = () =>
    new BankingClient({ baseUrl: service.url, token: () => service.tokenOf(ADA) }).workspace(
      idOfWorkspace('Ada personal'),
    );
  const getStatement = (
    query: string,
    {
      accountId,
      workspace = 'Ada personal',
      accept = '*/*',
    }: { accountId: number; workspace?: string; accept?: string },
  ) =>
    sendRequest(service, `/accounts/${accountId}/statement?${query}`, {
      as: ADA,
      workspace: idOfWorkspace(workspace),
      headers: { accept },
    });
  const days = new URLSearchParams(EVER[1][1]).toString();

  /** A new account with these fundings. */
  const opened = async (alias: string, amounts: readonly bigint[]) => {
    const { resource } = await personal().accounts.open({ productID: 2 as ProductId, alias });
    for (const amount of amounts) {
      await personal().sandbox.fund({ accountId: resource.id, amount: toTransferAmount(minorUnits(amount)) });
    }
    return resource;
  };

  describe('pages of a statement', () => {
    /** The pages, read by the `Link` of each page. */
    async function pagesOf(query: string, accountId: number) {
      const pages = [await getStatement(query, { accountId })];
      for (;;) {
        const link = pages.at(-1)?.headers.get('link');
        if (!link) return pages;
        const [, target = ''] = /^<([^>]+)>; rel="next"$/.exec(link) ?? [];
        expect(target).toMatch(/^\/accounts\/\d+\/statement\?/);
        pages.push(await getStatement(target.split('?')[1] ?? '', { accountId }));
      }
    }

    it.each(EVER)('returns pages by %s that make up the whole statement', async (_, period) => {
      const accountId = (await opened('Pages', [100n, 20n, 3n, 4n, 5n])).id;
      const query = new URLSearchParams(period).toString();
      const whole = await getStatement(query, { accountId });

      const pages = await pagesOf(`${query}&limit=2`, accountId);

      expect(whole.headers.has('link')).toBe(false);
      expect(pages.map(({ body }) => (body as Statement).movements.length)).toEqual([2, 2, 1]);
      const { movements, ...summary } = whole.body as Statement;
      expect(pages.flatMap(({ body }) => (body as Statement).movements)).toEqual(movements);
      for (const { body } of pages)
        expect({ ...(body as Statement), movements: [] }).toEqual({ ...summary, movements: [] });
    });

    it('excludes later bookings from the next page', async () => {
      const account = await opened('Pinned', [100n, 20n, 3n]);
      const ada = personal().accounts;
      const { next, closingBalance } = await ada.statement(account.id, { ...EVER[1][1], limit: 2 });
      await personal().sandbox.fund({ accountId: account.id, amount: toTransferAmount(minorUnits(7n)) });

      const last = await ada.statement(account.id, { ...EVER[1][1], cursor: next });

      expect(last).toMatchObject({ closingBalance, movements: [{ amount: '3', balanceAfter: closingBalance }] });
      expect(last).not.toHaveProperty('next');
      const walked = [];
      for await (const { amount } of ada.movements(account.id, { ...EVER[1][1], limit: 1 })) walked.push(amount);
      expect(walked).toEqual(['100', '20', '3', '7']);
    });

    it('returns one table, also of more movements than a page has', async () => {
      const { id: accountId } = await opened('Table', []);
      const amount = toTransferAmount(minorUnits(1n));
      for (let booked = 0; booked < 504; booked += 8) {
        await Promise.all(Array.from({ length: 8 }, () => personal().sandbox.fund({ accountId, amount })));
      }

      const { status, headers, text } = await getStatement(days, { accountId, accept: 'text/csv' });

      expect([status, headers.has('link')]).toEqual([200, false]);
      const lines = text.split('\r\n').map((line) => line.split(','));
      expect(lines.map(([line]) => line)).toEqual([
        'line',
        'opening',
        ...Array<string>(504).fill('movement'),
        'closing',
        '',
      ]);
      const ids = [];
      for await (const { id } of personal().accounts.movements(accountId, { ...EVER[1][1], limit: 500 })) ids.push(id);
      expect(lines.slice(2, -2).map((cells) => cells[4])).toEqual(ids.map(String));
    });

    it.each([
      ['limit=2', 'text/csv'],
      ['cursor=AAAA', 'text/csv'],
      ['limit=2', 'application/xml'],
    ])('refuses %s for a file of %s', async (query, accept) => {
      const { id: accountId } = await opened('Table without pages', [1n]);

      const [path] = query.split('=');
      expect(await getStatement(`${days}&${query}`, { accountId, accept })).toMatchObject({
        status: 400,
        body: {
          reason: `${path}_invalid`,
          details: [{ path, message: `${path} must be left out: a file has no pages.` }],
        },
      });
    });

    it('refuses a cursor for another period, account, basis or workspace', async () => {
      const [account, other] = [await opened('Cursor', [100n, 20n]), await opened('Other', [100n, 20n])];
      const { next = '' } = await personal().accounts.statement(account.id, { ...EVER[1][1], limit: 1 });
      const cursor = `cursor=${encodeURIComponent(next)}`;
      const mine = { accountId: account.id };

      expect(await getStatement(`${days}&${cursor}`, mine)).toMatchObject({ status: 200 });
      for (const [query, options] of [
        [`from=2000-01-02&to=2100-01-01&${cursor}`, mine],
        [`${new URLSearchParams(EVER[0][1]).toString()}&${cursor}`, mine],
        [`${days}&${cursor}`, { ...mine, accountId: other.id }],
        [`${days}&${cursor}`, { ...mine, workspace: 'Northwind Trading' }],
        [`${days}&cursor=${'A'.repeat(60)}`, mine],
      ] as const) {
        expect(await getStatement(query, options)).toMatchObject({ status: 400, body: { reason: 'cursor_invalid' } });
      }
    });
  });
}
