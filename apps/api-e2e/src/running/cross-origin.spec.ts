import { type OwnService, ownService } from '../identity/own-service.js';

const PAGE = 'https://app.example';

describe('cross-origin requests', () => {
  let service: OwnService;
  beforeAll(async () => {
    service = await ownService({ CORS_ORIGINS: PAGE });
  });
  afterAll(() => service?.stop());

  const sendRequest = (path: string, origin: string, method = 'GET', headers: Record<string, string> = {}) =>
    fetch(`${service.url}${path}`, { method, headers: { origin, ...headers } });

  it.each([
    ['a response', '/health/live', 'GET', 200],
    ['a refusal for want of a token', '/apps', 'GET', 401],
    ['a path that is not there', '/nowhere', 'GET', 404],
    ['a method that is not there', '/apps', 'DELETE', 405],
    ['a query too long', `/apps?${'a'.repeat(9_000)}`, 'GET', 414],
  ])('lets a page of an allowed origin read %s and its headers', async (_, path, method, status) => {
    const response = await sendRequest(path, PAGE, method);

    expect(response.status).toBe(status);
    expect(response.headers.get('access-control-allow-origin')).toBe(PAGE);
    expect(response.headers.get('access-control-expose-headers')?.split(', ')).toEqual(
      expect.arrayContaining([
        'X-Request-Id',
        'Link',
        'Location',
        'ETag',
        'Idempotent-Replayed',
        'Retry-After',
        'RateLimit',
        'RateLimit-Policy',
        'Idempotency-Key',
        'WWW-Authenticate',
        'Allow',
      ]),
    );
    expect(response.headers.get('vary')).toMatch(/origin/i);
  });

  it('allows a POST with the headers of the interface in a preflight', async () => {
    const response = await sendRequest('/accounts', PAGE, 'OPTIONS', {
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization,content-type,idempotency-key,workspace-id',
    });

    expect(response.status).toBe(204);
    expect(response.headers.get('access-control-allow-origin')).toBe(PAGE);
    expect(response.headers.get('access-control-allow-methods')).toContain('POST');
    expect(response.headers.get('access-control-allow-headers')).toMatch(/idempotency-key/i);
    for (const name of ['x-request-id', 'content-security-policy', 'x-content-type-options']) {
      expect([name, response.headers.has(name)]).toEqual([name, true]);
    }
    expect(response.headers.get('cache-control')).toBe('no-store');
  });

  it.each([
    ['/accounts', 405, 'method_not_allowed', 'GET, HEAD, POST'],
    ['/docs', 405, 'method_not_allowed', 'GET, HEAD'],
    ['/nowhere', 404, 'route_not_found', null],
  ])('refuses OPTIONS of %s without a preflight in the published form', async (path, status, reason, allow) => {
    for (const headers of [{}, { origin: PAGE }, { 'access-control-request-method': 'POST' }]) {
      const response = await fetch(`${service.url}${path}`, { method: 'OPTIONS', headers });

      expect([response.status, response.headers.get('allow')]).toEqual([status, allow]);
      expect(await response.json()).toMatchObject({ reason, requestId: response.headers.get('x-request-id') });
    }
  });

  it('sends no CORS headers to a page of an origin that is not allowed', async () => {
    for (const path of ['/health/live', '/apps', '/nowhere']) {
      const response = await sendRequest(path, 'https://evil.example');

      expect(response.headers.get('access-control-allow-origin')).not.toBe('https://evil.example');
      expect(response.headers.get('access-control-allow-origin')).not.toBe('*');
    }
  });
});
