import { until } from '@banking/postgres/testing';
import { sendRequest } from '../responses.js';
import { banking } from '../banking.js';
import { ADA } from '../service.js';
import { OwnIssuer } from './own-issuer.js';
import { ownService, withTokens, type OwnService } from './own-service.js';

describe('service with OIDC_BIND_BY_EMAIL=off', () => {
  let issuer: OwnIssuer;
  let own: OwnService;

  beforeAll(async () => {
    issuer = await OwnIssuer.start();
    own = await ownService({ OIDC_ISSUER: issuer.issuer, OIDC_BIND_BY_EMAIL: 'off', SANDBOX: 'on' });
  });

  afterAll(async () => {
    await own?.stop();
    await issuer?.stop();
  });

  it('refuses a token with the verified e-mail of a user until the subject is provisioned', async () => {
    const asAda = () =>
      sendRequest(withTokens(own), '/apps', { as: issuer.token('ada-1', { email: ADA, email_verified: true }) });

    expect((await asAda()).status).toBe(401);
    await banking(own.dataDir, 'user', 'bind', ADA, '--issuer', issuer.issuer, '--subject', 'ada-1');
    // An unknown subject is cached for a second.
    const response = await until(asAda, ({ status }) => status !== 401);

    expect(response.status).toBe(200);
  });
});
