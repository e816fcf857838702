import { BankingClient } from '@banking/client';
import type { Transfer, TransferQuery, WorkspaceId } from '@banking/domain';
import { ask } from '../answers.js';
import { ADA, type Service } from '../service.js';
import { idOf } from '../world.js';
import { mistakesIn } from './shapes.js';

/** What every list has in common, seen on the transfers. */
export function listsContract(provide: () => Service): void {
  const service = provide();
  const workspace = () => idOf(service.world, 'workspaces', 'Northwind Trading');
  const get = (path: string) => ask(service, path, { as: ADA, workspace: workspace() });
  const client = () => new BankingClient({ baseUrl: service.url, token: () => service.tokenOf(ADA) });

  async function walk(query: TransferQuery): Promise<readonly Transfer[]> {
    const view = client().workspace(workspace() as WorkspaceId);
    const walked: Transfer[] = [];
    let cursor: string | undefined;
    do {
      const { items, next } = await view.transfers.listPage({ ...query, cursor });
      walked.push(...items);
      cursor = next;
    } while (cursor !== undefined);
    return walked;
  }

  describe('and a list', () => {
    it('When it is asked for Then it is a plain array of whole resources, newest first', async () => {
      const { body, headers } = await get('/transfers');

      const transfers = body as Transfer[];
      expect(transfers.flatMap((transfer) => mistakesIn(transfer, 'Transfer'))).toEqual([]);
      const order = transfers.map(({ createdAt, id }) => `${createdAt} ${String(id).padStart(16, '0')}`);
      expect(order).toEqual([...order].sort().reverse());
      expect(headers.has('link')).toBe(false);
    });

    it('When it is walked in pages Then nothing is skipped and nothing comes twice', async () => {
      const whole = (await walk({})).map(({ id }) => id);

      expect((await walk({ limit: 1 })).map(({ id }) => id)).toEqual(whole);
      expect((await walk({ limit: 3 })).map(({ id }) => id)).toEqual(whole);
      expect(new Set(whole).size).toBe(whole.length);
    });

    it('When a page is not the last Then its link is relative, carries the filters, and leads to the next', async () => {
      const { headers } = await get('/transfers?limit=1&type=payout&createdFrom=2020-01-01T00:00:00%2B01:00');

      const [, target, relation] = /^<([^>]+)>; (.+)$/.exec(headers.get('link') ?? '') ?? [];
      expect(relation).toBe('rel="next"');
      expect(target).toMatch(/^\/transfers\?/);
      const query = new URLSearchParams(target?.split('?')[1]);
      expect([...query.keys()].sort()).toEqual(['createdFrom', 'cursor', 'limit', 'type']);
      expect(query.get('createdFrom')).toBe('2020-01-01T00:00:00+01:00');
      expect((await get(target ?? '')).status).toBe(200);
    });

    it.each<[string, string, string, readonly string[]]>([
      ['limit=0', 'limit_invalid', 'limit must be a whole number from 1 to 500.', ['limit']],
      ['limit=501', 'limit_invalid', 'limit must be a whole number from 1 to 500.', ['limit']],
      ['limit=', 'limit_invalid', 'limit must be a whole number from 1 to 500.', ['limit']],
      ['limit=1e2', 'limit_invalid', 'limit must be a whole number from 1 to 500.', ['limit']],
      ['limit=10&limit=20', 'limit_invalid', 'limit must be a whole number from 1 to 500.', ['limit']],
      ['limit[]=10', 'parameter_unknown', 'limit[] is not known here: leave it out, or correct its name.', ['limit[]']],
      ['accountId=01', 'id_malformed', 'accountId must be a whole number from 1 to 9007199254740991, in digits without a leading zero.', ['accountId']], // prettier-ignore
      ['direction=DEBIT', 'parameter_invalid', 'direction must be one of debit, credit.', ['direction']],
      ['createdFrom=2026-11-22T00:00:00Z&createdTo=2026-11-21T00:00:00Z', 'timestamp_invalid', 'createdFrom must not be after createdTo.', ['createdFrom']], // prettier-ignore
      ['createdFrom=2026-11-21', 'timestamp_invalid', 'createdFrom must be RFC 3339 with an offset, such as 2026-11-21T09:30:00Z; in a query, + is written %2B.', ['createdFrom']], // prettier-ignore
      [
        'acountId=1',
        'parameter_unknown',
        'acountId is not known here: leave it out, or correct its name.',
        ['acountId'],
      ],
      ['__proto__=1', 'parameter_unknown', '__proto__ is not known here: leave it out, or correct its name.', ['__proto__']], // prettier-ignore
      ['constructor=1', 'parameter_unknown', 'constructor is not known here: leave it out, or correct its name.', ['constructor']], // prettier-ignore
      ['cursor=', 'cursor_invalid', 'cursor must be the cursor of a `Link` header, as it stands.', ['cursor']],
      ['limit=0&direction=up', 'parameter_invalid', 'A parameter of the query has a value that the operation does not take.', ['limit', 'direction']], // prettier-ignore
    ])('When the query is %s Then it is refused, and the parameter is named', async (query, reason, message, paths) => {
      const { status, body } = await get(`/transfers?${query}`);

      expect(status).toBe(400);
      expect(body).toMatchObject({ errorCode: 'invalid_request', reason, message });
      const { details } = body as { details: { path: string }[] };
      expect(details.map(({ path }) => path).sort()).toEqual([...paths].sort());
    });

    it.each([
      ['accountId=999999', 404, 'account_not_found'],
      ['recipientId=999999', 404, 'recipient_not_found'],
      ['cursor=AAAA', 400, 'cursor_invalid'],
    ])('When the query is %s Then it is refused', async (query, status, reason) => {
      expect(await get(`/transfers?${query}`)).toMatchObject({ status, body: { reason } });
    });

    it('When a cursor is used with other filters or in another workspace Then it is refused', async () => {
      const { next = '' } = await client().listTransfers({ workspaceId: workspace() as WorkspaceId }, { limit: 1 });
      const elsewhere = { as: ADA, workspace: idOf(service.world, 'workspaces', 'Ada personal') };

      expect(await get(`/transfers?cursor=${next}&type=payout`)).toMatchObject({ body: { reason: 'cursor_invalid' } });
      expect(await ask(service, `/transfers?cursor=${next}`, elsewhere)).toMatchObject({ body: { reason: 'cursor_invalid' } }); // prettier-ignore
      expect(await get(`/transfers?cursor=${next}&limit=2`)).toMatchObject({ status: 200 });
    });
  });
}
