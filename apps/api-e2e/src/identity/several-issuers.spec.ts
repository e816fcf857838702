import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '@banking/postgres/testing';
import { sendRequest } from '../responses.js';
import { banking, DemoDatabase, type OwnService } from '../running-service.js';
import { ADA, BOB, idOf, type Service } from '../service.js';
import { OwnIssuer, withTokens } from './own-issuer.js';

const STAFF = 'staff-ada';

describe('a service with two issuers, step-up and required scopes', () => {
  let database: DemoDatabase;
  let customers: OwnIssuer;
  let staff: OwnIssuer;
  let own: OwnService;
  let service: Service;
  let workspace: number;

  beforeAll(async () => {
    [customers, staff] = await Promise.all([OwnIssuer.start(), OwnIssuer.start()]);
    database = await DemoDatabase.open();
    const file = join(database.dataDir, 'issuers.json');
    const issuers = [
      { issuer: customers.issuer, bindByEmail: true },
      { issuer: staff.issuer, bindByEmail: false },
    ];
    writeFileSync(file, JSON.stringify(issuers), { mode: 0o600 });
    own = await database.start({
      OIDC_ISSUERS_FILE: file,
      OIDC_SCOPES: 'required',
      STEP_UP: 'openAccount acr=phr max_age=300',
    });
    service = withTokens(own);
    workspace = idOf(own.world, 'workspaces', 'Northwind Trading');
  });
  afterAll(async () => {
    await own?.running.stop();
    await database?.close();
    await Promise.all([customers?.stop(), staff?.stop()]);
  });

  const ALL = 'apps:read accounts:create accounts:read';
  const asAda = (claims: object = {}) =>
    customers.token('ada-1', { email: ADA, email_verified: true, scope: ALL, ...claims });
  const asStaff = (claims: object = {}) =>
    staff.token(STAFF, { email: BOB, email_verified: true, scope: ALL, ...claims });

  it('accepts tokens of each, and names a user by issuer and subject', async () => {
    expect((await sendRequest(service, '/apps', { as: asAda() })).status).toBe(200);
    // The subject of the other issuer is another one, and may not be bound by its e-mail.
    expect((await sendRequest(service, '/apps', { as: staff.token('ada-1', { scope: ALL }) })).status).toBe(401);
    expect((await sendRequest(service, '/apps', { as: asStaff() })).status).toBe(401);

    await banking(own.dataDir, 'user', 'bind', ADA, '--issuer', staff.issuer, '--subject', STAFF);
    // An unknown subject is cached for a second, by its e-mail too. The command may take less.
    const bound = await until(
      () => sendRequest(service, '/accounts', { as: staff.token(STAFF, { scope: ALL }), workspace }),
      ({ status }) => status === 200,
    );
    expect([bound.status, (bound.body as unknown[]).length > 0]).toEqual([200, true]);
  });

  it('refuses a token of one that the other has signed, and of a third', async () => {
    const third = await OwnIssuer.start();
    const forged = [
      staff.token('ada-1', { scope: ALL }, { claims: { iss: customers.issuer } }),
      third.token('ada-1', { scope: ALL }),
    ];
    await third.stop();

    for (const as of forged) expect((await sendRequest(service, '/apps', { as })).status).toBe(401);
  });

  it('requires scopes, and allows no more than they say', async () => {
    const statusOf = async (scope: string | undefined, path = '/accounts') =>
      sendRequest(service, path, { as: asAda({ scope }), workspace });

    expect((await statusOf('accounts:read')).status).toBe(200);
    for (const scope of [undefined, 'openid', 'transfers:read']) {
      const refused = await statusOf(scope);
      expect(refused).toMatchObject({ status: 403, body: { reason: 'scope_insufficient' } });
      expect(refused.headers.get('www-authenticate')).toContain('scope="accounts:read"');
    }
  });

  it('asks for another sign-in where STEP_UP says so, and accepts it', async () => {
    const open = (claims: object) =>
      sendRequest(service, '/accounts', { as: asAda(claims), workspace, body: { productID: 1, alias: 'Step up' } });
    const nowS = Math.floor(Date.now() / 1000);

    for (const claims of [
      {},
      { acr: 'pwd', auth_time: nowS },
      { acr: 'phr', auth_time: nowS - 86_400 },
      { acr: 'phr' },
    ]) {
      const refused = await open(claims);
      expect(refused).toMatchObject({
        status: 401,
        body: { reason: 'step_up_required', errorCode: 'invalid_request' },
      });
      expect(refused.headers.get('www-authenticate')).toBe(
        'Bearer error="insufficient_user_authentication", acr_values="phr", max_age="300"',
      );
    }
    expect((await open({ acr: 'phr', auth_time: nowS })).status).toBe(201);
    expect((await sendRequest(service, '/accounts', { as: asAda(), workspace })).status).toBe(200);
  });
});
