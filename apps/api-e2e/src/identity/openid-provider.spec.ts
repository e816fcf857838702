import { randomUUID } from 'node:crypto';
import { until } from '@banking/postgres/testing';
import { sendRequest } from '../responses.js';
import { banking } from '../banking.js';
import { localToken, ADA, type Service } from '../service.js';
import { idOf } from '../world.js';
import { OpenIdProvider } from './openid-provider.js';
import { ownService, withTokens, type OwnService } from './own-service.js';

const PAYROLL = 'payroll-service';

describe('service that trusts an OpenID provider', () => {
  let provider: OpenIdProvider;
  let own: OwnService;
  let service: Service;

  beforeAll(async () => {
    provider = await OpenIdProvider.start();
    own = await ownService({ OIDC_ISSUER: provider.issuer });
    service = withTokens(own);
    await provision('payroll@northwind.example', PAYROLL);
  });

  afterAll(async () => {
    await own?.stop();
    await provider?.stop();
  });

  const provision = async (email: string, subject: string) => {
    const identity = ['--issuer', provider.issuer, '--subject', subject];
    await banking(own.dataDir, 'user', 'add', email, '--app', 'Northwind Treasury', ...identity);
    const workspace = String(idOf(own.world, 'workspaces', 'Northwind Trading'));
    await banking(own.dataDir, 'grant', 'add', email, '--workspace', workspace, '--role', 'member');
  };

  it('stays alive while the provider is unreachable, and responds with Retry-After', async () => {
    const token = await provider.token(PAYROLL);
    await provider.stop();

    const response = await sendRequest(service, '/apps', { as: token });

    expect(response.status).toBe(503);
    expect(response.body).toMatchObject({ errorCode: 'unavailable', reason: 'unavailable' });
    expect(response.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    expect((await sendRequest(service, '/health/live')).status).toBe(200);
    await provider.restart();
  });

  it('authenticates a service account without a restart once the provider is reachable', async () => {
    const token = await provider.token(PAYROLL);

    // A failure is cached for some seconds.
    const response = await until(
      () => sendRequest(service, '/apps', { as: token }),
      ({ status }) => status !== 503,
    );

    expect(response.status).toBe(200);
    expect(response.body).toMatchObject([{ id: idOf(own.world, 'apps', 'Northwind Treasury') }]);
  });

  it('lets an account with a role read the transfers of its workspace, and no others', async () => {
    const token = await provider.token(PAYROLL);
    const path = `/transfers/${idOf(own.world, 'transfers', 'spot')}`;
    const at = (workspace: string) =>
      sendRequest(service, path, { as: token, workspace: idOf(own.world, 'workspaces', workspace) });

    expect((await at('Northwind Trading')).status).toBe(200);
    expect((await at('Ada personal')).status).toBe(403);
  });

  it('refuses an account that only the provider knows', async () => {
    const response = await sendRequest(service, '/apps', { as: await provider.token('unknown-service') });

    expect(response.status).toBe(401);
  });

  it('refuses a token for another service', async () => {
    const response = await sendRequest(service, '/apps', { as: await provider.token(PAYROLL, 'urn:elsewhere') });

    expect(response.status).toBe(401);
  });

  it('refuses a token signed with the key of DATA_DIR', async () => {
    const response = await sendRequest(service, '/apps', { as: await localToken(own.dataDir, ADA) });

    expect(response.status).toBe(401);
  });

  it('fetches the keys at most once for many unknown key ids', async () => {
    const token = await provider.token(PAYROLL);
    const before = provider.keysFetched;
    const [, ...rest] = token.split('.');
    const strange = Array.from({ length: 300 }, () => [headerWithKey(randomUUID()), ...rest].join('.'));

    const responses = await Promise.all(strange.map((one) => sendRequest(service, '/apps', { as: one })));

    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([401]));
    expect(provider.keysFetched - before).toBeLessThanOrEqual(1);
  });

  it('verifies tokens with known keys while the provider is unreachable', async () => {
    const tokens = [await provider.token(PAYROLL), await provider.token(PAYROLL)];
    await provider.stop();

    const responses = await Promise.all(tokens.map((token) => sendRequest(service, '/apps', { as: token })));

    expect(responses.map(({ status }) => status)).toEqual([200, 200]);
    await provider.restart();
  });
});

const headerWithKey = (kid: string) =>
  Buffer.from(JSON.stringify({ alg: 'RS256', typ: 'at+jwt', kid })).toString('base64url');
