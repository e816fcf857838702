import { BankingClient } from '@banking/client';
import { minorUnits, toTransferAmount, type ProductId, type Statement, type WorkspaceId } from '@banking/domain';
import { sendRequest } from '../responses.js';
import { ADA, type Service } from '../service.js';
import { idOf } from '../world.js';
import { EVER } from './statements.js';

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

    it.each(['limit=2', 'cursor=AAAA'])('refuses %s for a table', async (query) => {
      const { id: accountId } = await opened('Table without pages', [1n]);

      const [path] = query.split('=');
      expect(await getStatement(`${days}&${query}`, { accountId, accept: 'text/csv' })).toMatchObject({
        status: 400,
        body: {
          reason: `${path}_invalid`,
          details: [{ path, message: `${path} must be left out: a table has no pages.` }],
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
