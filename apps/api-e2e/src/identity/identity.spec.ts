import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '@banking/postgres/testing';
import { refusesForgeries } from '../hostile/forge.js';
import { sendRequest } from '../responses.js';
import { banking, DemoDatabase, type OwnService } from '../running-service.js';
import { ADA, BOB, CY, EVE, idOf, localToken, type Service } from '../service.js';
import { OpenIdProvider, OwnIssuer, withTokens } from './own-issuer.js';

const PAYROLL = 'payroll-service';

/** One service that trusts the issuer of the spec and a real OpenID provider. */
let database: DemoDatabase;
let issuer: OwnIssuer;
let provider: OpenIdProvider;
let own: OwnService;
let service: Service;

beforeAll(async () => {
  [issuer, provider] = await Promise.all([OwnIssuer.start(), OpenIdProvider.start()]);
  database = await DemoDatabase.open();
  const file = join(database.dataDir, 'issuers.json');
  const issuers = [issuer, provider].map((one) => ({ issuer: one.issuer }));
  writeFileSync(file, JSON.stringify(issuers), { mode: 0o600 });
  own = await database.start({ OIDC_ISSUERS_FILE: file });
  service = withTokens(own);
});
afterAll(async () => {
  await own?.running.stop();
  await database?.close();
  await Promise.all([issuer?.stop(), provider?.stop()]);
});

describe('service that trusts an issuer by its discovery document', () => {
  const requestAs = (
    subject: string,
    email: string,
    verified: { email_verified?: unknown } = { email_verified: true },
  ) => sendRequest(service, '/apps', { as: issuer.token(subject, { email, ...verified }) });

  describe('users identified by e-mail', () => {
    it('refuses an unverified e-mail', async () => {
      for (const verified of [{}, ...[false, 'true', 1, null].map((value) => ({ email_verified: value }))]) {
        expect((await requestAs('cy-1', CY, verified)).status).toBe(401);
      }
    });

    it('binds the first subject with a verified e-mail, which then needs no e-mail', async () => {
      const first = await requestAs('ada-1', ADA);
      const later = await sendRequest(service, '/apps', { as: issuer.token('ada-1') });

      expect([first.status, later.status]).toEqual([200, 200]);
      expect(later.text).toBe(first.text);
    });

    it('refuses a second subject with the same e-mail and keeps the first', async () => {
      await requestAs('bob-1', BOB);

      const second = await requestAs('bob-2', BOB);

      expect(second.status).toBe(401);
      expect((await sendRequest(service, '/apps', { as: issuer.token('bob-1') })).status).toBe(200);
    });

    it('identifies a bound subject by its binding, not by the e-mail of another user', async () => {
      await requestAs('eve-1', EVE);

      const response = await requestAs('eve-1', ADA);

      expect(response.body).toMatchObject([{ name: 'Southwind' }]);
    });

    it('ignores the case of the e-mail', async () => {
      expect((await requestAs('cy-capitals', CY.toUpperCase())).status).toBe(200);
    });

    it('refuses an e-mail that only looks alike', async () => {
      for (const email of [
        `${ADA} `,
        `x${ADA}`,
        `${ADA}.evil.example`,
        'ada%northwind.example',
        '%',
        "' or 1=1--",
        '',
      ]) {
        expect((await requestAs(`alike-${randomUUID()}`, email)).status).toBe(401);
      }
    });
  });

  const mint = () => issuer.mint('ada-1', { email: ADA, email_verified: true });
  refusesForgeries('the issuer', () => Promise.resolve({ service, mint: mint() }), 'some');

  it('logs neither tokens nor e-mails', () => {
    expect(own.running.log).not.toMatch(/eyJ[A-Za-z0-9_-]{8,}/);
    expect(own.running.log).not.toMatch(/northwind\.example|southwind\.example/);
  });
});

describe('service that trusts an OpenID provider', () => {
  beforeAll(() => provision('payroll@northwind.example', PAYROLL));

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
    const strange = Array.from({ length: 30 }, () => [headerWithKey(randomUUID()), ...rest].join('.'));

    const responses = await Promise.all(strange.map((one) => sendRequest(service, '/apps', { as: one })));

    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([401]));
    expect(provider.keysFetched - before).toBeLessThanOrEqual(1);
  });

  it('verifies tokens with known keys while the provider is unreachable', async () => {
    const tokens = [await provider.token(PAYROLL), await provider.token(PAYROLL)];
    await provider.stop();

    const responses = await Promise.all(tokens.map((token) => sendRequest(service, '/apps', { as: token })));

    expect(responses.map(({ status }) => status)).toEqual([200, 200]);
  });
});

const headerWithKey = (kid: string) =>
  Buffer.from(JSON.stringify({ alg: 'RS256', typ: 'at+jwt', kid })).toString('base64url');
