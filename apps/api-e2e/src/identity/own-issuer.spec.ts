import { randomUUID } from 'node:crypto';
import { ask } from '../answers.js';
import { refusesForgeries } from '../hostile/refuses-forgeries.js';
import { ADA, BOB, CY, EVE, type Service } from '../service.js';
import { OwnIssuer } from './own-issuer.js';
import { ownService, withTokens, type OwnService } from './own-service.js';

describe('Given a service that trusts an issuer by its discovery document', () => {
  let issuer: OwnIssuer;
  let own: OwnService;
  let service: Service;

  beforeAll(async () => {
    issuer = await OwnIssuer.start();
    own = await ownService({ OIDC_ISSUER: issuer.issuer });
    service = withTokens(own);
  }, 180_000);

  afterAll(async () => {
    await own?.stop();
    await issuer?.stop();
  });

  const askAs = (subject: string, email: string, verified: { email_verified?: unknown } = { email_verified: true }) =>
    ask(service, '/apps', { as: issuer.token(subject, { email, ...verified }) });

  describe('and users who are known by their e-mail', () => {
    it('When the e-mail is not verified Then it says nothing', async () => {
      for (const verified of [{}, ...[false, 'true', 1, null].map((said) => ({ email_verified: said }))]) {
        expect((await askAs('cy-1', CY, verified)).status).toBe(401);
      }
    });

    it('When it is verified Then the first subject is bound, and needs no e-mail from then on', async () => {
      const first = await askAs('ada-1', ADA);
      const later = await ask(service, '/apps', { as: issuer.token('ada-1') });

      expect([first.status, later.status]).toEqual([200, 200]);
      expect(later.text).toBe(first.text);
    });

    it('When a second subject brings the same e-mail Then it is refused, and the first keeps working', async () => {
      await askAs('bob-1', BOB);

      const second = await askAs('bob-2', BOB);

      expect(second.status).toBe(401);
      expect((await ask(service, '/apps', { as: issuer.token('bob-1') })).status).toBe(200);
    });

    it('When a bound subject brings the e-mail of somebody else Then it stays who it is', async () => {
      await askAs('eve-1', EVE);

      const answer = await askAs('eve-1', ADA);

      expect(answer.body).toMatchObject([{ name: 'Southwind' }]);
    });

    it('When the e-mail is written in capitals Then it is the same mailbox', async () => {
      expect((await askAs('cy-capitals', CY.toUpperCase())).status).toBe(200);
    });

    it('When an e-mail is only alike Then it is nobody', async () => {
      for (const email of [
        `${ADA} `,
        `x${ADA}`,
        `${ADA}.evil.example`,
        'ada%northwind.example',
        '%',
        "' or 1=1--",
        '',
      ]) {
        expect((await askAs(`alike-${randomUUID()}`, email)).status).toBe(401);
      }
    });
  });

  describe('and key ids', () => {
    it('When a thousand tokens name key ids nobody has Then the keys are fetched once more at most', async () => {
      await askAs('ada-1', ADA);
      const before = issuer.keysFetched;

      const statuses = new Set<number>();
      for (let round = 0; round < 20; round += 1) {
        const tokens = Array.from({ length: 50 }, () => issuer.token('ada-1', {}, { header: { kid: randomUUID() } }));
        const answers = await Promise.all(tokens.map((token) => ask(service, '/apps', { as: token })));
        answers.forEach(({ status }) => statuses.add(status));
      }

      expect([...statuses]).toEqual([401]);
      expect(issuer.keysFetched - before).toBeLessThanOrEqual(1);
    });
  });

  refusesForgeries('the issuer', () =>
    Promise.resolve({ service, mint: issuer.mint('ada-1', { email: ADA, email_verified: true }) }),
  );

  it('When all has been tried Then the log holds no token and no e-mail', () => {
    expect(own.log()).not.toMatch(/eyJ[A-Za-z0-9_-]{8,}/);
    expect(own.log()).not.toMatch(/northwind\.example|southwind\.example/);
  });
});
