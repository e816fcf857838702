import { once } from 'node:events';
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { boundedFetch, ResponseTooLargeError } from './bounded-fetch.js';

const LIMITS = { bytesMax: 10, timeoutMs: 5_000 };

let server: Server;
let url: string;
let respond: RequestListener;

beforeAll(async () => {
  server = createServer((request, response) => respond(request, response));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
});
afterAll(async () => {
  server.closeAllConnections();
  await once(server.close(), 'close');
});

describe('boundedFetch', () => {
  it('returns status, headers and body of a response within the limits', async () => {
    respond = ({ headers }, response) => response.writeHead(404, { 'x-accept': headers.accept }).end('0123456789');

    const response = await boundedFetch(url, LIMITS, { headers: { accept: 'application/json' } });

    expect(response.status).toBe(404);
    expect(response.headers.get('x-accept')).toBe('application/json');
    expect(await response.text()).toBe('0123456789');
  });

  it('returns a response without a body', async () => {
    respond = (_, response) => response.writeHead(204).end();

    expect((await boundedFetch(url, LIMITS)).body).toBeNull();
  });

  it('refuses a body one byte over the limit and stops reading it', async () => {
    let isClosed: Promise<unknown> | undefined;
    respond = (_, response) => {
      isClosed = once(response, 'close');
      response.write('01234567890');
    };

    await expect(boundedFetch(url, LIMITS)).rejects.toThrow(ResponseTooLargeError);
    await isClosed;
  });

  it('refuses a redirect', async () => {
    let requests = 0;
    respond = (_, response) => {
      requests += 1;
      response.writeHead(302, { location: '/elsewhere' }).end();
    };

    await expect(boundedFetch(url, LIMITS)).rejects.toMatchObject({ name: 'TypeError' });
    expect(requests).toBe(1);
  });

  it.each([
    ['closes', (socket: Socket) => void socket.destroy()],
    ['resets', (socket: Socket) => void socket.resetAndDestroy()],
  ])('sends one request if the server %s the connection, however many are idle', async (_how, end) => {
    const held: ServerResponse[] = [];
    const requestTo = (path: string) => boundedFetch(`${url}${path}`, LIMITS, { method: 'POST', body: '{}' });
    let requests = 0;
    respond = (request, response) => {
      if (request.url === '/ends') {
        requests += 1;
        return end(request.socket);
      }
      held.push(response);
      if (held.length === 5) held.forEach((one) => one.end());
    };
    await Promise.all(Array.from({ length: 5 }, () => requestTo('idle')));

    await expect(requestTo('ends')).rejects.toMatchObject({ name: 'TypeError' });
    expect(requests).toBe(1);
  });

  it('fails if the body is not complete within the time limit', async () => {
    respond = (_, response) => response.write('0');

    await expect(boundedFetch(url, { ...LIMITS, timeoutMs: 50 })).rejects.toMatchObject({ name: 'TimeoutError' });
  });

  it('fails if the caller aborts', async () => {
    respond = () => undefined;
    const abort = new AbortController();
    const response = boundedFetch(url, LIMITS, { signal: abort.signal });
    abort.abort(new Error('no longer needed'));

    await expect(response).rejects.toThrow('no longer needed');
  });
});
