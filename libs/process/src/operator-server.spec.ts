import { serveOperators, type OperatorServer } from './run-service.js';

let server: OperatorServer;

beforeAll(async () => {
  server = await serveOperators(
    { host: '127.0.0.1', port: 0 },
    {
      '/text': async () => ({ status: 200, type: 'text/plain', body: 'a 1\n' }),
      '/json': async () => ({ status: 503, body: { status: 'no' }, headers: { 'Retry-After': '1' } }),
      '/broken': async () => Promise.reject(new Error('a secret')),
    },
  );
});
afterAll(() => server.close());

async function request(path: string, method = 'GET') {
  const response = await fetch(`http://127.0.0.1:${server.port}${path}`, { method });
  const { status, headers } = response;
  return {
    status,
    type: headers.get('content-type'),
    retryAfter: headers.get('retry-after'),
    text: await response.text(),
  };
}

describe('the server for operators', () => {
  it('sends a text with its type, and an object as JSON with its headers', async () => {
    expect(await request('/text?x=1')).toMatchObject({ status: 200, type: 'text/plain', text: 'a 1\n' });
    expect(await request('/json')).toMatchObject({
      ...{ status: 503, type: 'application/json', retryAfter: '1', text: '{"status":"no"}' },
    });
  });

  it('responds to a failed route without the cause', async () => {
    expect(await request('/broken')).toMatchObject({ status: 500, text: '{"status":"failed"}' });
  });

  it.each([
    ['/', 'GET', 404],
    ['/constructor', 'GET', 404],
    ['/text', 'POST', 405],
    ['/text', 'HEAD', 200],
  ])('responds to %s %s with status %i', async (path, method, expected) => {
    expect((await request(path, method)).status).toBe(expected);
  });

  it('rejects a port in use', async () => {
    await expect(serveOperators({ host: '127.0.0.1', port: server.port }, {})).rejects.toMatchObject({
      code: 'EADDRINUSE',
    });
  });
});
