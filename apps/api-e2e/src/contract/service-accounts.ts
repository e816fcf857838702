import type { ServiceAccount, ServiceAccountKey } from '@banking/domain';
import { sendRequest } from '../responses.js';
import { ADA, EVE, idOf, type Service } from '../service.js';
import { Payer } from './paying.js';
import { faultsIn } from './shapes.js';

const INPUT = { name: 'Contract', roles: ['viewer', 'member'], scopes: ['orders:create', 'orders:read'] } as const;

/** Service accounts and keys as their administrators manage them. Calls with a key are tried elsewhere, because a gateway takes none. */
export function serviceAccountsContract(provide: () => Service): void {
  const service = provide();
  const ada = new Payer(service);
  const made: ServiceAccount[] = [];
  const create = async () => {
    const { resource } = await ada.view.serviceAccounts.create(INPUT);
    made.push(resource);
    return resource;
  };
  const send = (path: string, options: Parameters<typeof sendRequest>[2] = {}, email = ADA) =>
    sendRequest(service, `/service-accounts${path}`, {
      as: email,
      workspace: idOf(service.world, 'workspaces', email === ADA ? 'Northwind Trading' : 'Southwind Imports'),
      ...options,
    });

  describe('service accounts', () => {
    afterEach(async () => {
      for (const { id } of made.splice(0)) await send(`/${id}`, { method: 'DELETE' });
    });

    it('are created, read, changed, listed and deleted', async () => {
      const key = { 'idempotency-key': `service-accounts-${Date.now()}` };
      const first = await send('', { body: INPUT, headers: key });
      const account = first.body as ServiceAccount;
      made.push(account);
      const again = await send('', { body: INPUT, headers: key });

      expect([first.status, first.headers.get('location')]).toEqual([
        201,
        expect.stringMatching(new RegExp(`/service-accounts/${account.id}$`)),
      ]);
      expect(account).toMatchObject(INPUT);
      expect(faultsIn(account, 'ServiceAccount')).toEqual([]);
      expect([again.status, again.body, again.headers.get('idempotent-replayed')]).toEqual([201, account, 'true']);
      expect((await send(`/${account.id}`)).body).toEqual(account);
      expect((await send('')).body).toContainEqual(account);
      const { serviceAccounts } = ada.view;
      const changed = await serviceAccounts.change(account.id, { name: 'Renamed', roles: ['viewer'], scopes: [] });
      expect(changed).toMatchObject({ name: 'Renamed', roles: ['viewer'] });
      expect(changed).not.toHaveProperty('scopes');
      await serviceAccounts.delete(account.id);
      expect(await send(`/${account.id}`)).toMatchObject({
        status: 404,
        body: { reason: 'service_account_not_found' },
      });
    });

    it('get a key at once, also in a workspace of another app', async () => {
      const { id } = (await send('', { body: INPUT }, EVE)).body as ServiceAccount;
      const { status } = await send(`/${id}/keys`, { body: {} }, EVE);
      const { body } = await send(`/${id}`, {}, EVE);
      const deleted = await send(`/${id}`, { method: 'DELETE' }, EVE);

      expect([status, deleted.status]).toEqual([201, 204]);
      expect(body).toMatchObject(INPUT);
      expect((await send(`/${id}`, {}, EVE)).status).toBe(404);
    });

    it('show a key at its creation only', async () => {
      const { id } = await create();
      const options = {
        body: { networks: ['203.0.113.0/24'], expiresAt: '2099-11-21T09:00:00Z' },
        headers: { 'idempotency-key': `keys-${Date.now()}` },
      };
      const first = await send(`/${id}/keys`, options);
      const { secret, ...key } = first.body as ServiceAccountKey & { secret: string };
      const again = await send(`/${id}/keys`, options);
      const list = await send(`/${id}/keys`);

      expect([first.status, first.headers.get('location')]).toEqual([
        201,
        expect.stringMatching(new RegExp(`/service-accounts/${id}/keys/${key.id}$`)),
      ]);
      expect(secret).toMatch(/^bank_key_[1-9][0-9]{0,15}_[0-9A-Za-z]{49}$/);
      expect(faultsIn(key, 'ServiceAccountKey')).toEqual([]);
      expect([again.status, again.body, again.headers.get('idempotent-replayed')]).toEqual([201, key, 'true']);
      expect((await send(`/${id}/keys/${key.id}`)).body).toEqual(key);
      expect(list.body).toEqual([key]);
      expect(list.text).not.toContain('bank_key_');
    });

    it('rotate and revoke keys', async () => {
      const { id } = await create();
      const { keys } = ada.view.serviceAccounts;
      const { resource: former } = await keys.create(id);
      const { resource: next } = await keys.rotate(id, former.id, { overlapSeconds: 60 });

      expect(next.secret).toMatch(/^bank_key_/);
      expect((await keys.get(id, former.id)).expiresAt).toBeDefined();
      await keys.revoke(id, former.id);
      const listed = [];
      for await (const key of keys.list(id, { limit: 1 })) listed.push(key.id);
      expect(listed).toEqual([next.id]);
      expect(await send(`/${id}/keys/${former.id}`)).toMatchObject({ status: 404, body: { reason: 'key_not_found' } });
    });

    it('of another workspace are not found', async () => {
      const { id } = await create();
      const { resource: key } = await ada.view.serviceAccounts.keys.create(id);
      for (const [method, path, body, reason] of [
        ['GET', `/${id}`, undefined, 'service_account_not_found'],
        ['PATCH', `/${id}`, {}, 'service_account_not_found'],
        ['DELETE', `/${id}`, undefined, 'service_account_not_found'],
        ['GET', `/${id}/keys`, undefined, 'service_account_not_found'],
        ['POST', `/${id}/keys`, {}, 'service_account_not_found'],
        ['GET', `/${id}/keys/${key.id}`, undefined, 'key_not_found'],
        ['DELETE', `/${id}/keys/${key.id}`, undefined, 'key_not_found'],
        ['POST', `/${id}/keys/${key.id}/rotation`, {}, 'key_not_found'],
      ] as const) {
        expect(await send(path, { method, ...(body && { body }) }, EVE)).toMatchObject({
          status: 404,
          body: { reason },
        });
      }
    });

    it('are paged, and their cursors belong to their list', async () => {
      const [, second] = [await create(), await create()];
      const { items, next = '' } = await ada.view.serviceAccounts.listPage({ limit: 1 });
      const theirs = await send(`?limit=1&cursor=${encodeURIComponent(next)}`, {}, EVE);
      const ofKeys = await send(`/${second.id}/keys?cursor=${encodeURIComponent(next)}`);

      expect(items.map(({ id }) => id)).toEqual([second.id]);
      for (const response of [theirs, ofKeys]) {
        expect(response).toMatchObject({ status: 400, body: { reason: 'cursor_invalid' } });
      }
    });

    it.each([
      ['no name', { roles: ['member'] }, 'body_malformed'],
      ['no role', { name: 'X', roles: [] }, 'body_malformed'],
      ['the role of an administrator', { name: 'X', roles: ['admin'] }, 'body_malformed'],
      ['the role of an approver', { name: 'X', roles: ['viewer', 'approver'] }, 'body_malformed'],
      ['a role twice', { name: 'X', roles: ['member', 'member'] }, 'body_malformed'],
      ['a scope of administrators', { name: 'X', roles: ['member'], scopes: ['keys:create'] }, 'body_malformed'],
      ['an e-mail', { name: 'X', roles: ['member'], email: 'x@northwind.example' }, 'field_unknown'],
    ])('are refused with %s', async (_, body, reason) => {
      expect(await send('', { body })).toMatchObject({ status: 400, body: { reason } });
    });

    it.each([
      ['a network that is none', { networks: ['10.0.0.0/33'] }, 422, 'network_invalid'],
      ['networks that are no list', { networks: '10.0.0.0/8' }, 400, 'body_malformed'],
      ['an end in the past', { expiresAt: '2001-01-01T00:00:00Z' }, 400, 'timestamp_invalid'],
      ['an end that is no instant', { expiresAt: 'never' }, 400, 'timestamp_invalid'],
      ['a secret of its own', { secret: 'bank_key_1_mine' }, 400, 'field_unknown'],
    ])('are refused a key with %s, which the response does not repeat', async (_, body, status, reason) => {
      const { id } = await create();
      const response = await send(`/${id}/keys`, { body });

      expect(response).toMatchObject({ status, body: { reason } });
      expect(response.text).not.toMatch(/10\.0\.0\.0\/33|mine/);
    });
  });
}
