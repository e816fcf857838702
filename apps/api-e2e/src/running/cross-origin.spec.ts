import { type OwnService, ownService } from '../identity/own-service.js';

const PAGE = 'https://app.example';

describe('Given a service that pages of another origin may call', () => {
  let service: OwnService;
  beforeAll(async () => {
    service = await ownService({ CORS_ORIGINS: PAGE });
  }, 180_000);
  afterAll(() => service?.stop());

  const ask = (path: string, origin: string, method = 'GET', headers: Record<string, string> = {}) =>
    fetch(`${service.url}${path}`, { method, headers: { origin, ...headers } });

  it.each([
    ['an answer', '/health/live', 'GET', 200],
    ['a refusal for want of a token', '/apps', 'GET', 401],
    ['a path that is not there', '/nowhere', 'GET', 404],
    ['a method that is not there', '/apps', 'DELETE', 405],
    ['a query too long', `/apps?${'a'.repeat(9_000)}`, 'GET', 414],
  ])('When such a page gets %s Then it can read it, our headers too', async (_, path, method, status) => {
    const answer = await ask(path, PAGE, method);

    expect(answer.status).toBe(status);
    expect(answer.headers.get('access-control-allow-origin')).toBe(PAGE);
    expect(answer.headers.get('access-control-expose-headers')?.split(', ')).toEqual(
      expect.arrayContaining([
        'X-Request-Id',
        'Link',
        'Location',
        'ETag',
        'Idempotent-Replayed',
        'Retry-After',
        'RateLimit',
        'RateLimit-Policy',
        'Deprecation',
        'Sunset',
        'Idempotency-Key',
        'WWW-Authenticate',
        'Allow',
      ]),
    );
    expect(answer.headers.get('vary')).toMatch(/origin/i);
  });

  it('When its browser asks first Then a POST with our headers is allowed', async () => {
    const answer = await ask('/accounts', PAGE, 'OPTIONS', {
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization,content-type,idempotency-key,workspace-id',
    });

    expect(answer.status).toBe(204);
    expect(answer.headers.get('access-control-allow-origin')).toBe(PAGE);
    expect(answer.headers.get('access-control-allow-methods')).toContain('POST');
    expect(answer.headers.get('access-control-allow-headers')).toMatch(/idempotency-key/i);
    for (const name of ['x-request-id', 'content-security-policy', 'x-content-type-options']) {
      expect([name, answer.headers.has(name)]).toEqual([name, true]);
    }
    expect(answer.headers.get('cache-control')).toBe('no-store');
  });

  it.each([
    ['/accounts', 405, 'method_not_allowed', 'GET, HEAD, POST'],
    ['/docs', 405, 'method_not_allowed', 'GET, HEAD'],
    ['/nowhere', 404, 'route_not_found', null],
  ])('When OPTIONS of %s is no preflight Then it is refused in our form', async (path, status, reason, allow) => {
    for (const headers of [{}, { origin: PAGE }, { 'access-control-request-method': 'POST' }]) {
      const answer = await fetch(`${service.url}${path}`, { method: 'OPTIONS', headers });

      expect([answer.status, answer.headers.get('allow')]).toEqual([status, allow]);
      expect(await answer.json()).toMatchObject({ reason, requestId: answer.headers.get('x-request-id') });
    }
  });

  it('When a page of yet another origin calls Then nothing allows it to read', async () => {
    for (const path of ['/health/live', '/apps', '/nowhere']) {
      const answer = await ask(path, 'https://evil.example');

      expect(answer.headers.get('access-control-allow-origin')).not.toBe('https://evil.example');
      expect(answer.headers.get('access-control-allow-origin')).not.toBe('*');
    }
  });
});
