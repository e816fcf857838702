import { BankingClient } from '@banking/client';
import { sendRequest } from '../responses.js';
import { ADA, EVE, type Service } from '../service.js';
import { idOf } from '../world.js';
import { faultsIn } from './shapes.js';

/** The reads without a workspace, by our client. */
export function readsContract(provide: () => Service): void {
  const service = provide();
  const client = (email: string) => new BankingClient({ baseUrl: service.url, token: () => service.tokenOf(email) });

  describe('reads of a user', () => {
    it('lists only the app of the user', async () => {
      const apps = await client(ADA).apps.list();

      expect(faultsIn(apps, 'App[]')).toEqual([]);
      expect(apps).toMatchObject([
        { id: idOf(service.world, 'apps', 'Northwind Treasury'), name: 'Northwind Treasury' },
      ]);
      expect(apps).toHaveLength(1);
    });

    it('lists different apps for a user of another app', async () => {
      const apps = await client(EVE).apps.list();

      expect(apps.map(({ id }) => id)).toEqual([idOf(service.world, 'apps', 'Southwind')]);
    });

    it('lists users of an app with the published fields and their roles', async () => {
      const users = await client(ADA).apps.users(idOf(service.world, 'apps', 'Northwind Treasury'));

      expect(faultsIn(users, 'User[]')).toEqual([]);
      expect(users.filter(({ edges }) => !Array.isArray(edges.roles))).toEqual([]);
    });

    it('lists products of one currency each, with unique names per currency', async () => {
      const products = await client(ADA).products.list();

      expect(faultsIn(products, 'Product[]')).toEqual([]);
      expect(products.length).toBeGreaterThan(4);
      const named = products.map(({ name, edges }) => `${name} ${edges.currency.id}`);
      expect(new Set(named).size).toBe(products.length);
      expect(products.map(({ edges }) => edges.currency.code)).toEqual(
        expect.arrayContaining(['USD', 'EUR', 'JPY', 'KWD']),
      );
    });

    it('shows decimals and the minimum SWIFT withdrawal in minor units of the currency', async () => {
      const products = await client(ADA).products.list();

      const decimals = new Map(products.map(({ edges }) => [edges.currency.code, edges.currency.decimals]));
      expect(Object.fromEntries(decimals)).toMatchObject({ USD: 2, JPY: 0, KWD: 3 });
    });

    it.each(['/apps', '/products', '/recipients/countries/IN/corridors'])(
      'returns %s as JSON in UTF-8 without null',
      async (path) => {
        const response = await sendRequest(service, path, { as: ADA });

        expect(response.status).toBe(200);
        expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
        expect(response.text).toMatch(/^\[/);
        expect(response.text).not.toMatch(/[:[,]null\b/);
      },
    );

    it('returns the same body for a repeated read', async () => {
      const [once, again] = [
        await sendRequest(service, '/products', { as: ADA }),
        await sendRequest(service, '/products', { as: EVE }),
      ];

      expect(again.text).toBe(once.text);
    });
  });
}
