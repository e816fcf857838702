import { randomUUID } from 'node:crypto';
import { sendRequest } from '../responses.js';
import { refusesForgeries } from '../hostile/refuses-forgeries.js';
import { ADA, BOB, CY, EVE, type Service } from '../service.js';
import { OwnIssuer } from './own-issuer.js';
import { ownService, withTokens, type OwnService } from './own-service.js';

describe('service that trusts an issuer by its discovery document', () => {
  let issuer: OwnIssuer;
  let own: OwnService;
  let service: Service;

  beforeAll(async () => {
    issuer = await OwnIssuer.start();
    own = await ownService({ OIDC_ISSUER: issuer.issuer });
    service = withTokens(own);
  });

  afterAll(async () => {
    await own?.stop();
    await issuer?.stop();
  });

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

  describe('key ids', () => {
    it('fetches the keys at most once more for a thousand unknown key ids', async () => {
      await requestAs('ada-1', ADA);
      const before = issuer.keysFetched;

      const statuses = new Set<number>();
      for (let round = 0; round < 20; round += 1) {
        const tokens = Array.from({ length: 50 }, () => issuer.token('ada-1', {}, { header: { kid: randomUUID() } }));
        const responses = await Promise.all(tokens.map((token) => sendRequest(service, '/apps', { as: token })));
        responses.forEach(({ status }) => statuses.add(status));
      }

      expect([...statuses]).toEqual([401]);
      expect(issuer.keysFetched - before).toBeLessThanOrEqual(1);
    });
  });

  refusesForgeries('the issuer', () =>
    Promise.resolve({ service, mint: issuer.mint('ada-1', { email: ADA, email_verified: true }) }),
  );

  it('logs neither tokens nor e-mails', () => {
    expect(own.log()).not.toMatch(/eyJ[A-Za-z0-9_-]{8,}/);
    expect(own.log()).not.toMatch(/northwind\.example|southwind\.example/);
  });
});
