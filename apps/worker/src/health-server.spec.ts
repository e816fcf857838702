import { serveHealth, type HealthServer } from './health-server.js';

const status = { parked: { payout: 2 }, oldestDueSeconds: 7 };
let isStopping = false;
let isDown = false;
let server: HealthServer;
let base: string;

beforeAll(async () => {
  const readStatus = () => (isDown ? Promise.reject(new Error('no database')) : Promise.resolve(status));
  server = await serveHealth({ host: '127.0.0.1', port: 0 }, { isStopping: () => isStopping, readStatus });
  base = `http://127.0.0.1:${server.port}`;
});
beforeEach(() => {
  isStopping = isDown = false;
});
afterAll(() => server.close());

async function ask(path: string, method = 'GET') {
  const response = await fetch(`${base}${path}`, { method });
  const text = await response.text();
  return { status: response.status, body: text === '' ? undefined : (JSON.parse(text) as unknown), headers: response.headers }; // prettier-ignore
}

describe('Given the health server of a worker', () => {
  it('When the database answers, Then it is ready, with what is parked and how old what is due is', async () => {
    const { headers, ...answer } = await ask('/health/ready');

    expect(answer).toEqual({ status: 200, body: { status: 'ok', work: status } });
    expect(headers.get('cache-control')).toBe('no-store');
  });

  it('When the database cannot be reached, Then it lives and is not ready, and why is not told', async () => {
    isDown = true;

    expect(await ask('/health/ready')).toMatchObject({ status: 503, body: { status: 'unavailable' } });
    expect(await ask('/health/live')).toMatchObject({ status: 200, body: { status: 'ok' } });
  });

  it('When it has been told to stop, Then it is not ready any more', async () => {
    isStopping = true;

    expect(await ask('/health/ready?verbose')).toMatchObject({ status: 503, body: { status: 'stopping' } });
  });

  it.each([
    ['/', 'GET', 404],
    ['/health', 'GET', 404],
    ['/health/ready', 'POST', 405],
    ['/health/live', 'HEAD', 200],
  ])('When %s is asked with %s, Then the answer is %i', async (path, method, expected) => {
    expect((await ask(path, method)).status).toBe(expected);
  });

  it('When the port is taken, Then that is said', async () => {
    const source = { isStopping: () => false, readStatus: async () => status };

    await expect(serveHealth({ host: '127.0.0.1', port: server.port }, source)).rejects.toMatchObject({ code: 'EADDRINUSE' }); // prettier-ignore
  });
});
