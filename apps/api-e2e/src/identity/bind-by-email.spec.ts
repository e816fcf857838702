import { ask } from '../answers.js';
import { banking } from '../banking.js';
import { ADA } from '../service.js';
import { OwnIssuer } from './own-issuer.js';
import { ownService, withTokens, type OwnService } from './own-service.js';

describe('Given a service with OIDC_BIND_BY_EMAIL=off', () => {
  let issuer: OwnIssuer;
  let own: OwnService;

  beforeAll(async () => {
    issuer = await OwnIssuer.start();
    own = await ownService({ OIDC_ISSUER: issuer.issuer, OIDC_BIND_BY_EMAIL: 'off', SANDBOX: 'on' });
  }, 180_000);

  afterAll(async () => {
    await own?.stop();
    await issuer?.stop();
  });

  it('When a token carries the verified e-mail of a user Then it is refused until the subject is provisioned', async () => {
    const asAda = () =>
      ask(withTokens(own), '/apps', { as: issuer.token('ada-1', { email: ADA, email_verified: true }) });

    expect((await asAda()).status).toBe(401);
    await banking(own.dataDir, 'user', 'bind', ADA, '--issuer', issuer.issuer, '--subject', 'ada-1');
    let answer = await asAda();
    // An unknown subject is remembered for a second.
    while (answer.status === 401) answer = await asAda();

    expect(answer.status).toBe(200);
  });
});
