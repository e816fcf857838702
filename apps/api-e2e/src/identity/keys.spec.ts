import { randomBytes } from 'node:crypto';
import { BankingClient, type WorkspaceView } from '@banking/client';
import { keyText } from '@banking/domain';
import { until } from '@banking/postgres/testing';
import { sendRequest } from '../responses.js';
import { DemoDatabase, type OwnService } from '../running-service.js';
import { ADA, BOB, idOf, localToken, type Service } from '../service.js';
import { withTokens } from './own-issuer.js';

describe('a program with a key', () => {
  let database: DemoDatabase;
  let own: OwnService;
  /** A second process on the same database. */
  let second: OwnService;
  let service: Service;
  let workspace: number;
  let admin: WorkspaceView;

  beforeAll(async () => {
    database = await DemoDatabase.open();
    own = await database.start();
    second = await database.start();
    service = withTokens(own);
    workspace = idOf(own.world, 'workspaces', 'Northwind Trading');
    const token = await localToken(own.dataDir, ADA);
    admin = new BankingClient({ baseUrl: own.url, token }).workspace(workspace);
  });
  afterAll(async () => {
    await own?.running.stop();
    await second?.running.stop();
    await database?.close();
  });

  const programOf = async (more: object = {}, ofKey: object = {}) => {
    const { resource: account } = await admin.serviceAccounts.create({ name: 'Payroll', roles: ['member'], ...more });
    const { resource: key } = await admin.serviceAccounts.keys.create(account.id, ofKey);
    return { account, key, secret: key.secret! };
  };
  const get = (path: string, secret: string, at: Service = service) => sendRequest(at, path, { as: secret, workspace });

  it('reads and pays with the roles of its service account, and never administers', async () => {
    const { account, key, secret } = await programOf();
    const program = new BankingClient({ baseUrl: own.url, token: secret }).workspace(workspace);
    const from = idOf(own.world, 'accounts', 'Northwind Trading EUR');
    const [recipient] = (await program.recipients.listPage({ limit: 1 })).items;

    const { resource: order } = await program.orders.place({
      ...{ accountId: from, recipientID: recipient!.id, type: 'instant', amount: '10000', purposeCode: 'IR001' },
    });
    expect(order.status).toBe('completed');
    for (const path of [
      '/webhook-endpoints',
      '/audit-events',
      '/service-accounts',
      `/service-accounts/${account.id}/keys`,
    ]) {
      expect(await get(path, secret)).toMatchObject({ status: 403, body: { reason: 'role_insufficient' } });
    }
    const acceptance = { as: secret, body: { code: 'inv_any' } };
    expect(await sendRequest(service, '/invitations/acceptance', acceptance)).toMatchObject({
      ...{ status: 403, body: { reason: 'role_insufficient' } },
    });
    const place = await until(async () => {
      const { items } = await admin.auditEvents.listPage({ operation: 'placeOrder', resourceId: order.id });
      return items[0];
    });
    expect(place!.actor).toEqual({ type: 'serviceAccount', serviceAccountID: account.id, keyID: key.id });
    const used = await until(
      () => admin.serviceAccounts.keys.get(account.id, key.id),
      ({ lastUsedAt }) => lastUsedAt !== undefined,
    );
    expect(used.lastUsedAt).toMatch(/:00\.000000Z$/);
  });

  it('does no more than its scopes', async () => {
    const { secret } = await programOf({ scopes: ['orders:read'] });

    expect((await get('/orders', secret)).status).toBe(200);
    const refused = await get('/transfers', secret);
    expect(refused).toMatchObject({ status: 403, body: { reason: 'scope_insufficient', errorCode: 'forbidden' } });
    expect(refused.headers.get('www-authenticate')).toBe('Bearer error="insufficient_scope", scope="transfers:read"');
  });

  it('is refused in another workspace, from another network, and with another text', async () => {
    const { key, secret } = await programOf({}, { networks: ['127.0.0.0/8', '::1'] });
    const elsewhere = await programOf({}, { networks: ['203.0.113.0/24'] });

    expect((await get('/orders', secret)).status).toBe(200);
    expect((await get('/orders', elsewhere.secret)).status).toBe(401);
    for (const text of [keyText(key.id, randomBytes(32)), keyText(999_999, randomBytes(32)), `${secret}0`]) {
      expect(await get('/orders', text)).toMatchObject({ status: 401, body: { reason: 'not_authenticated' } });
    }
    const other = idOf(own.world, 'workspaces', 'Southwind Imports');
    expect((await sendRequest(service, '/orders', { as: secret, workspace: other })).status).toBe(403);
  });

  it.each([
    ['its key is revoked', (id: number, keyId: number) => admin.serviceAccounts.keys.revoke(id, keyId)],
    ['it is deleted', (id: number) => admin.serviceAccounts.delete(id)],
    [
      'its key is rotated without an overlap',
      async (id: number, keyId: number) => {
        await admin.serviceAccounts.keys.rotate(id, keyId, { overlapSeconds: 0 });
      },
    ],
  ])('is refused by every process once %s', async (_, end) => {
    const { account, key, secret } = await programOf();
    const other = withTokens(second);
    expect([(await get('/orders', secret)).status, (await get('/orders', secret, other)).status]).toEqual([200, 200]);

    await end(account.id, key.id);
    for (const at of [service, other]) {
      // A cached role is a second old at most.
      const refused = await until(
        () => get('/orders', secret, at),
        ({ status }) => status !== 200,
      );
      expect(refused).toMatchObject({ status: 401, body: { reason: 'not_authenticated' } });
    }
  });

  it('goes on during the overlap of a rotation', async () => {
    const { account, key, secret } = await programOf();
    const { resource: next } = await admin.serviceAccounts.keys.rotate(account.id, key.id);

    expect((await get('/orders', secret)).status).toBe(200);
    expect((await get('/orders', next.secret!)).status).toBe(200);
  });

  it('is made by administrators only', async () => {
    const token = await localToken(own.dataDir, BOB);
    const refused = await sendRequest(service, '/service-accounts', {
      ...{ as: token, workspace, body: { name: 'Mine', roles: ['member'] } },
    });

    expect(refused).toMatchObject({ status: 403, body: { reason: 'role_insufficient' } });
  });

  // The last, because its process stops.
  it('leaves no key in the log, and refused requests in the audit trail when its process stops', async () => {
    const { secret } = await programOf({ scopes: ['orders:read'] });
    await get('/transfers', secret);

    await own.running.stop();

    expect(own.running.log).not.toMatch(/bank_key_/);
    const token = await localToken(own.dataDir, ADA);
    const { auditEvents } = new BankingClient({ baseUrl: second.url, token }).workspace(workspace);
    const noted = await until(async () => (await auditEvents.listPage({ operation: 'listTransfers' })).items[0]);
    expect(noted).toMatchObject({ outcome: 'refused', reason: 'scope_insufficient' });
  });
});
