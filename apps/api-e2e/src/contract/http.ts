import { ask } from '../answers.js';
import { ADA, type Service } from '../service.js';
import { idOf } from '../world.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

export function httpContract(provide: () => Service): void {
  const service = provide();

  describe('and how it speaks HTTP', () => {
    it.each(['a', 'job-17.step_2', 'A'.repeat(128)])(
      'When a request brings the id %s Then the answer carries it back',
      async (id) => {
        const answer = await ask(service, '/apps', { headers: { 'x-request-id': id } });

        expect(answer.headers.get('x-request-id')).toBe(id);
        expect(answer.body).toMatchObject({ requestId: id });
      },
    );

    it.each(['', 'a b', 'A'.repeat(129), '{"level":"fatal"}', 'a;b', '../../etc/passwd', '<script>', 'é', 'a,b'])(
      'When the id a request brings is %j Then it gets another one',
      async (id) => {
        const answer = await ask(service, '/apps', { headers: { 'x-request-id': id } });

        expect(answer.headers.get('x-request-id')).toMatch(UUID);
        expect(answer.text).not.toContain('script');
      },
    );

    it('When two requests bring no id Then each gets one of its own', async () => {
      const [one, other] = [await ask(service, '/health/live'), await ask(service, '/health/live')];

      expect(one.headers.get('x-request-id')).toMatch(UUID);
      expect(other.headers.get('x-request-id')).not.toBe(one.headers.get('x-request-id'));
    });

    it.each(['/apps', '/products', '/recipients/countries/IN/corridors', '/health/live'])(
      'When HEAD %s is asked Then there are the headers of GET and no body',
      async (path) => {
        const get = await ask(service, path, { as: ADA });
        const head = await ask(service, path, { as: ADA, method: 'HEAD' });

        expect([head.status, head.text]).toEqual([200, '']);
        for (const name of ['content-type', 'content-length'])
          expect(head.headers.get(name)).toBe(get.headers.get(name));
      },
    );

    it('When HEAD is asked without a token Then it is refused as GET is', async () => {
      const head = await ask(service, '/apps', { method: 'HEAD' });

      expect([head.status, head.text]).toEqual([401, '']);
      expect(head.headers.get('www-authenticate')).toBe('Bearer');
    });

    it('When a scheme is written in other letters Then it is the same scheme', async () => {
      const token = await service.tokenOf(ADA);

      for (const scheme of ['bearer', 'BEARER', 'bEaReR']) {
        const answer = await ask(service, '/apps', { headers: { authorization: `${scheme} ${token}` } });
        expect(answer.status).toBe(200);
      }
    });

    it.each([
      ['an answer', '/apps', { as: ADA }],
      ['a refusal', '/apps', {}],
      ['a path that is none', '/nothing-here', {}],
      ['a method that is none', '/apps', { method: 'DELETE' }],
      ['a broken path', '/%', {}],
    ])('When %s is given Then a browser is told to do nothing with it but show it', async (_, path, question) => {
      const { headers } = await ask(service, path, question);

      expect(headers.get('content-security-policy')).toContain("default-src 'none'");
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.has('x-powered-by') || headers.has('server')).toBe(false);
      expect(headers.has('access-control-allow-origin')).toBe(false);
    });

    it('When a query is sent that nobody asked for Then the answer is the same', async () => {
      const id = idOf(service.world, 'apps', 'Northwind Treasury');

      const [plain, queried] = [
        await ask(service, `/apps/${id}/users`, { as: ADA }),
        await ask(service, `/apps/${id}/users?limit=1&appId=2&__proto__[x]=1`, { as: ADA }),
      ];

      expect(queried.text).toBe(plain.text);
    });
  });
}
