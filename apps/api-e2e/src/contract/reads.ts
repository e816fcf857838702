import { BankingClient } from '@banking/client';
import type { AppId } from '@banking/domain';
import { ask } from '../answers.js';
import { ADA, EVE, type Service } from '../service.js';
import { idOf } from '../world.js';
import { mistakesIn } from './shapes.js';

/** The reads that belong to no workspace, as a program sees them that uses our client. */
export function readsContract(provide: () => Service): void {
  const service = provide();
  const client = (email: string) => new BankingClient({ baseUrl: service.url, token: () => service.tokenOf(email) });

  describe('and the reads of a user', () => {
    it('When Ada lists her apps Then there is the one she belongs to, and no other', async () => {
      const apps = await client(ADA).listApps();

      expect(mistakesIn(apps, 'App[]')).toEqual([]);
      expect(apps).toMatchObject([
        { id: idOf(service.world, 'apps', 'Northwind Treasury'), name: 'Northwind Treasury' },
      ]);
      expect(apps).toHaveLength(1);
    });

    it('When Eve lists hers Then they are not those of Ada', async () => {
      const apps = await client(EVE).listApps();

      expect(apps.map(({ id }) => id)).toEqual([idOf(service.world, 'apps', 'Southwind')]);
    });

    it('When the users of an app are listed Then each has the published fields and always its roles', async () => {
      const users = await client(ADA).listAppUsers(
        {},
        { appId: idOf(service.world, 'apps', 'Northwind Treasury') as AppId },
      );

      expect(mistakesIn(users, 'User[]')).toEqual([]);
      expect(users.filter(({ edges }) => !Array.isArray(edges.roles))).toEqual([]);
    });

    it('When products are listed Then each is of one currency and no currency has two of the same name', async () => {
      const products = await client(ADA).listProducts();

      expect(mistakesIn(products, 'Product[]')).toEqual([]);
      expect(products.length).toBeGreaterThan(4);
      const named = products.map(({ name, edges }) => `${name} ${edges.currency.id}`);
      expect(new Set(named).size).toBe(products.length);
      expect(products.map(({ edges }) => edges.currency.code)).toEqual(
        expect.arrayContaining(['USD', 'EUR', 'JPY', 'KWD']),
      );
    });

    it('When a currency is shown Then its decimals and its smallest SWIFT withdrawal are in its own minor units', async () => {
      const products = await client(ADA).listProducts();

      const decimals = new Map(products.map(({ edges }) => [edges.currency.code, edges.currency.decimals]));
      expect(Object.fromEntries(decimals)).toMatchObject({ USD: 2, JPY: 0, KWD: 3 });
    });

    it.each(['/apps', '/products', '/recipients/countries/IN/corridors'])(
      'When %s is read as bytes Then it is JSON in UTF-8, and no null is anywhere in it',
      async (path) => {
        const answer = await ask(service, path, { as: ADA });

        expect(answer.status).toBe(200);
        expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
        expect(answer.text).toMatch(/^\[/);
        expect(answer.text).not.toMatch(/[:[,]null\b/);
      },
    );

    it('When a read is repeated Then it says the same', async () => {
      const [once, again] = [
        await ask(service, '/products', { as: ADA }),
        await ask(service, '/products', { as: EVE }),
      ];

      expect(again.text).toBe(once.text);
    });
  });
}
