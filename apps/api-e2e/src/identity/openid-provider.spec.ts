import { randomUUID } from 'node:crypto';
import { ask } from '../answers.js';
import { banking } from '../banking.js';
import { localToken, ADA, type Service } from '../service.js';
import { idOf } from '../world.js';
import { OpenIdProvider } from './openid-provider.js';
import { ownService, withTokens, type OwnService } from './own-service.js';

const PAYROLL = 'payroll-service';

describe('Given a service that trusts an OpenID provider', () => {
  let provider: OpenIdProvider;
  let own: OwnService;
  let service: Service;

  beforeAll(async () => {
    provider = await OpenIdProvider.start();
    own = await ownService({ OIDC_ISSUER: provider.issuer });
    service = withTokens(own);
    await provision('payroll@northwind.example', PAYROLL);
  }, 180_000);

  afterAll(async () => {
    await own?.stop();
    await provider?.goAway();
  });

  const provision = async (email: string, subject: string) => {
    const identity = ['--issuer', provider.issuer, '--subject', subject];
    await banking(own.dataDir, 'user', 'add', email, '--app', 'Northwind Treasury', ...identity);
    const workspace = String(idOf(own.world, 'workspaces', 'Northwind Trading'));
    await banking(own.dataDir, 'grant', 'add', email, '--workspace', workspace, '--role', 'member');
  };

  it('When the provider is away at first Then the service says so, when to ask again, and is alive', async () => {
    const token = await provider.token(PAYROLL);
    await provider.goAway();

    const answer = await ask(service, '/apps', { as: token });

    expect(answer.status).toBe(503);
    expect(answer.body).toMatchObject({ errorCode: 'unavailable', reason: 'unavailable' });
    expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    expect((await ask(service, '/health/live')).status).toBe(200);
    await provider.comeBack();
  });

  it('When the provider is back Then a service account reads its apps, with nothing restarted', async () => {
    const token = await provider.token(PAYROLL);

    const answer = await firstNot503(() => ask(service, '/apps', { as: token }));

    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject([{ id: idOf(own.world, 'apps', 'Northwind Treasury') }]);
  });

  it('When the account has a role in a workspace Then it reads its transfers, and no others', async () => {
    const token = await provider.token(PAYROLL);
    const path = `/transfers/${idOf(own.world, 'transfers', 'spot')}`;
    const at = (workspace: string) =>
      ask(service, path, { as: token, workspace: idOf(own.world, 'workspaces', workspace) });

    expect((await at('Northwind Trading')).status).toBe(200);
    expect((await at('Ada personal')).status).toBe(403);
  });

  it('When the account is known to the provider and not to us Then it is nobody', async () => {
    const answer = await ask(service, '/apps', { as: await provider.token('unknown-service') });

    expect(answer.status).toBe(401);
  });

  it('When the token is for another service Then it is refused here', async () => {
    const answer = await ask(service, '/apps', { as: await provider.token(PAYROLL, 'urn:elsewhere') });

    expect(answer.status).toBe(401);
  });

  it('When a token is signed with the key of DATA_DIR Then it is refused: there is one issuer', async () => {
    const answer = await ask(service, '/apps', { as: await localToken(own.dataDir, ADA) });

    expect(answer.status).toBe(401);
  });

  it('When many tokens name keys it never had Then it is asked for its keys once at most', async () => {
    const token = await provider.token(PAYROLL);
    const before = provider.keysFetched;
    const [, ...rest] = token.split('.');
    const strange = Array.from({ length: 100 }, () => [headerWithKey(randomUUID()), ...rest].join('.'));

    const answers = await Promise.all(strange.map((one) => ask(service, '/apps', { as: one })));

    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401]));
    expect(provider.keysFetched - before).toBeLessThanOrEqual(1);
  });

  it('When its keys are known and it goes away Then tokens are still proven', async () => {
    const tokens = [await provider.token(PAYROLL), await provider.token(PAYROLL)];
    await provider.goAway();

    const answers = await Promise.all(tokens.map((token) => ask(service, '/apps', { as: token })));

    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    await provider.comeBack();
  });
});

const headerWithKey = (kid: string) =>
  Buffer.from(JSON.stringify({ alg: 'RS256', typ: 'at+jwt', kid })).toString('base64url');

/** A failure is remembered for some seconds: what counts is that asking again, without a restart, succeeds. */
async function firstNot503<T extends { readonly status: number }>(question: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + 20_000;
  let answer = await question();
  while (answer.status === 503 && performance.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, 200));
    answer = await question();
  }
  return answer;
}
