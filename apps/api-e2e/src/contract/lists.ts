import { BankingClient } from '@banking/client';
import type { Transfer, TransferQuery, WorkspaceId } from '@banking/domain';
import { sendRequest } from '../responses.js';
import { ADA, type Service } from '../service.js';
import { idOf } from '../world.js';
import { faultsIn } from './shapes.js';

/** The behaviour of every list, tested with transfers. */
export function listsContract(provide: () => Service): void {
  const service = provide();
  const workspace = () => idOf(service.world, 'workspaces', 'Northwind Trading');
  const get = (path: string) => sendRequest(service, path, { as: ADA, workspace: workspace() });
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

  describe('lists', () => {
    it('returns an array of complete resources, newest first', async () => {
      const { body, headers } = await get('/transfers');

      const transfers = body as Transfer[];
      expect(transfers.flatMap((transfer) => faultsIn(transfer, 'Transfer'))).toEqual([]);
      const order = transfers.map(({ createdAt, id }) => `${createdAt} ${String(id).padStart(16, '0')}`);
      expect(order).toEqual([...order].sort().reverse());
      expect(headers.has('link')).toBe(false);
    });

    it('returns each item once over all pages', async () => {
      const whole = (await walk({})).map(({ id }) => id);

      expect((await walk({ limit: 1 })).map(({ id }) => id)).toEqual(whole);
      expect((await walk({ limit: 3 })).map(({ id }) => id)).toEqual(whole);
      expect(new Set(whole).size).toBe(whole.length);
    });

    it('links to the next page with a relative URL that repeats the filters', async () => {
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
      ['limit=10&limit=10', 'parameter_repeated', 'Send the parameter limit once.', ['limit']],
      ['limit[]=10', 'parameter_unknown', 'limit[] is unknown: remove it, or correct its name.', ['limit[]']],
      [
        'accountId=01',
        'id_malformed',
        'accountId must be a whole number from 1 to 9007199254740991, in digits without a leading zero.',
        ['accountId'],
      ],
      ['direction=DEBIT', 'parameter_invalid', 'direction must be one of debit, credit.', ['direction']],
      [
        'createdFrom=2026-11-22T00:00:00Z&createdTo=2026-11-21T00:00:00Z',
        'timestamp_invalid',
        'createdFrom must not be after createdTo.',
        ['createdFrom'],
      ],
      [
        'createdFrom=2026-11-21',
        'timestamp_invalid',
        'createdFrom must be RFC 3339 with an offset, such as 2026-11-21T09:30:00Z; in a query, + is written %2B.',
        ['createdFrom'],
      ],
      ['acountId=1', 'parameter_unknown', 'acountId is unknown: remove it, or correct its name.', ['acountId']],
      ['__proto__=1', 'parameter_unknown', '__proto__ is unknown: remove it, or correct its name.', ['__proto__']],
      [
        'constructor=1',
        'parameter_unknown',
        'constructor is unknown: remove it, or correct its name.',
        ['constructor'],
      ],
      ['cursor=', 'cursor_invalid', 'cursor must be the cursor of a `Link` header, unchanged.', ['cursor']],
      [
        'limit=0&direction=up',
        'parameter_invalid',
        'A query parameter has a value that the operation does not accept.',
        ['limit', 'direction'],
      ],
    ])('refuses the query %s and names the parameter', async (query, reason, message, paths) => {
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
    ])('refuses the query %s', async (query, status, reason) => {
      expect(await get(`/transfers?${query}`)).toMatchObject({ status, body: { reason } });
    });

    it('refuses a cursor with other filters or in another workspace', async () => {
      const { next = '' } = await client().workspace(workspace()).transfers.listPage({ limit: 1 });
      const elsewhere = { as: ADA, workspace: idOf(service.world, 'workspaces', 'Ada personal') };

      expect(await get(`/transfers?cursor=${next}&type=payout`)).toMatchObject({ body: { reason: 'cursor_invalid' } });
      expect(await sendRequest(service, `/transfers?cursor=${next}`, elsewhere)).toMatchObject({
        body: { reason: 'cursor_invalid' },
      });
      expect(await get(`/transfers?cursor=${next}&limit=2`)).toMatchObject({ status: 200 });
    });
  });
}
