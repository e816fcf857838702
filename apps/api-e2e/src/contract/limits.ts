import type { LimitList, LimitTerms } from '@banking/domain';
import { sendRequest } from '../responses.js';
import { ADA, BOB, idOf, type Service } from '../service.js';
import { Payer } from './paying.js';
import { faultsIn } from './shapes.js';

/** Limits as administrators set them, and orders meet them. The workspace has none before and after. */
export function limitsContract(provide: () => Service): void {
  const service = provide();
  const ada = new Payer(service);
  const send = (options: Parameters<typeof sendRequest>[2] = {}, email = ADA) =>
    sendRequest(service, '/limits', {
      as: email,
      workspace: idOf(service.world, 'workspaces', 'Northwind Trading'),
      ...options,
    });
  const put = async (limits: readonly LimitTerms[], version?: number) => {
    const known = version ?? ((await send()).body as LimitList).version;
    return send({ method: 'PUT', body: { version: known, limits } });
  };
  const PER_ACCOUNT = { scope: 'account', metric: 'amount', per: 'day', value: '1000' } as const;

  describe('limits', () => {
    afterEach(async () => {
      expect(await put([])).toMatchObject({ status: 200, body: { limits: [] } });
    });

    it('are replaced by their version, and a repeated request has the response of the first', async () => {
      const account = await ada.account();
      const limits = [{ ...PER_ACCOUNT, accountID: account.id, currency: 'USD' }];
      const { version } = (await send()).body as LimitList;

      const first = await put(limits, version);
      const again = await put(limits, version);
      const other = await put([], version);

      expect([first.status, faultsIn(first.body, 'LimitList')]).toEqual([200, []]);
      expect(first.body).toMatchObject({ version: version + 1, limits: [{ ...limits[0], used: '0' }] });
      expect([again.status, again.body]).toEqual([200, first.body]);
      expect(other).toMatchObject({ status: 409, body: { reason: 'version_conflict' } });
      expect((await send({}, BOB)).body).toEqual(first.body);
    });

    it('refuse an order that exceeds one, and name it', async () => {
      const payer = await ada.account('100000');
      const recipientID = await ada.recipientOf(await ada.account());
      const limit = { ...PER_ACCOUNT, accountID: payer.id, currency: 'USD' };
      await put([limit]);

      const pay = (amount: string) => ada.send(payer.id, { amount, recipientID, type: 'instant' });
      expect((await pay('600')).status).toBe(200);
      const refused = await pay('401');

      expect(refused).toMatchObject({
        status: 422,
        body: { reason: 'limit_exceeded', details: [{ path: '/amount', limit: { ...limit, used: '600' } }] },
      });
      expect(((await send()).body as LimitList).limits).toMatchObject([{ ...limit, used: '600' }]);
    });

    it('are refused if they are not valid', async () => {
      const refused = await put([{ ...PER_ACCOUNT, accountID: 999_999_999 as never, currency: 'USD' }, PER_ACCOUNT]);

      expect(refused).toMatchObject({ status: 422, body: { reason: 'payment_limit_invalid' } });
    });
  });
}
