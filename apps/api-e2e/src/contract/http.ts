import { routesOf } from '../documented/document.js';
import { offlineDocument } from '../documented/read-document.js';
import { sendRequest } from '../responses.js';
import { ADA, type Service } from '../service.js';
import { idOf } from '../world.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** The operations that change something by their path alone. */
const BODILESS = routesOf(offlineDocument())
  .filter(({ method, operation }) => method !== 'GET' && operation.requestBody === undefined)
  .map(({ method, path }) => [method, path] as const);

export function httpContract(provide: () => Service): void {
  const service = provide();

  describe('HTTP', () => {
    it.each(['a', 'job-17.step_2', 'A'.repeat(128)])('returns the request id %s', async (id) => {
      const response = await sendRequest(service, '/apps', { headers: { 'x-request-id': id } });

      expect(response.headers.get('x-request-id')).toBe(id);
      expect(response.body).toMatchObject({ requestId: id });
    });

    it.each(['', 'a b', 'A'.repeat(129), '{"level":"fatal"}', 'a;b', '../../etc/passwd', '<script>', 'é', 'a,b'])(
      'replaces the invalid request id %j',
      async (id) => {
        const response = await sendRequest(service, '/apps', { headers: { 'x-request-id': id } });

        expect(response.headers.get('x-request-id')).toMatch(UUID);
        expect(response.text).not.toContain('script');
      },
    );

    it('generates a request id for each request without one', async () => {
      const [one, other] = [await sendRequest(service, '/health/live'), await sendRequest(service, '/health/live')];

      expect(one.headers.get('x-request-id')).toMatch(UUID);
      expect(other.headers.get('x-request-id')).not.toBe(one.headers.get('x-request-id'));
    });

    it.each(['/apps', '/products', '/recipients/countries/IN/corridors', '/health/live'])(
      'returns the headers of GET without a body for HEAD %s',
      async (path) => {
        const get = await sendRequest(service, path, { as: ADA });
        const head = await sendRequest(service, path, { as: ADA, method: 'HEAD' });

        expect([head.status, head.text]).toEqual([200, '']);
        for (const name of ['content-type', 'content-length'])
          expect(head.headers.get(name)).toBe(get.headers.get(name));
      },
    );

    it('refuses HEAD without a token like GET', async () => {
      const head = await sendRequest(service, '/apps', { method: 'HEAD' });

      expect([head.status, head.text]).toEqual([401, '']);
      expect(head.headers.get('www-authenticate')).toBe('Bearer');
    });

    it('ignores the case of the authentication scheme', async () => {
      const token = await service.tokenOf(ADA);

      for (const scheme of ['bearer', 'BEARER', 'bEaReR']) {
        const response = await sendRequest(service, '/apps', { headers: { authorization: `${scheme} ${token}` } });
        expect(response.status).toBe(200);
      }
    });

    it.each([
      ['a response', '/apps', { as: ADA }],
      ['a refusal', '/apps', {}],
      ['an unknown path', '/nothing-here', {}],
      ['an unsupported method', '/apps', { method: 'DELETE' }],
      ['a broken path', '/%', {}],
    ])('sends headers that stop a browser from interpreting %s', async (_, path, options) => {
      const { headers } = await sendRequest(service, path, options);

      expect(headers.get('content-security-policy')).toContain("default-src 'none'");
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.has('x-powered-by') || headers.has('server')).toBe(false);
      expect(headers.has('access-control-allow-origin')).toBe(false);
    });

    it.each(BODILESS)('accepts an empty body of JSON for %s %s, which needs none', async (method, path) => {
      const { status } = await sendRequest(service, path.replaceAll(/\{\w+\}/g, '999999999'), {
        method,
        as: ADA,
        workspace: idOf(service.world, 'workspaces', 'Northwind Trading'),
        body: '',
      });

      expect(status).toBe(404);
    });

    it('refuses query parameters where none are defined, and names them', async () => {
      const path = `/apps/${idOf(service.world, 'apps', 'Northwind Treasury')}/users?limit=1&__proto__[x]=1`;
      const { status, body } = await sendRequest(service, path, { as: ADA });

      expect(status).toBe(400);
      expect(body).toMatchObject({
        reason: 'parameter_unknown',
        details: [{ path: 'limit' }, { path: '__proto__[x]' }],
      });
    });
  });
}
