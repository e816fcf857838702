import { serviceOfTheRun } from '../service.js';
import { faultsInError, requestBytes, sendRaw } from './raw-request.js';

const service = serviceOfTheRun();
const { host } = new URL(service.url);

/** More than all buffers in between hold, so that a service that accepts this has not stopped reading. */
const ENDLESS_BYTES = 64 * 1024 * 1024;

/** Requests whose end is ambiguous, or that are no HTTP. */
const BROKEN: Readonly<Record<string, string>> = {
  'two Host lines': `GET /apps HTTP/1.1\r\nHost: ${host}\r\nHost: evil.example\r\nConnection: close\r\n\r\n`,
  'an unknown transfer coding': `POST /apps HTTP/1.1\r\nHost: ${host}\r\nTransfer-Encoding: xchunked\r\n\r\n`,
  'two transfer codings': `POST /apps HTTP/1.1\r\nHost: ${host}\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n`,
  'a length and a transfer coding': `POST /apps HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  'two lengths': `POST /apps HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!`,
  'a length that is none': `POST /apps HTTP/1.1\r\nHost: ${host}\r\nContent-Length: five\r\n\r\nhello`,
  'a negative length': `POST /apps HTTP/1.1\r\nHost: ${host}\r\nContent-Length: -1\r\n\r\n`,
  'a chunk too large to count': `POST /apps HTTP/1.1\r\nHost: ${host}\r\nTransfer-Encoding: chunked\r\nContent-Type: application/json\r\n\r\nFFFFFFFFFFFFFFFFF\r\n{}`,
  'a chunk size that is no number': `POST /apps HTTP/1.1\r\nHost: ${host}\r\nTransfer-Encoding: chunked\r\nContent-Type: application/json\r\n\r\nzz\r\n{}`,
  'a space before the colon': `GET /apps HTTP/1.1\r\nHost: ${host}\r\nAuthorization : Bearer x\r\n\r\n`,
  'a folded header': `GET /apps HTTP/1.1\r\nHost: ${host}\r\nX-Long: a\r\n b\r\nConnection: close\r\n\r\n`,
  'a NUL in a header': `GET /apps HTTP/1.1\r\nHost: ${host}\r\nX-Zero: a\0b\r\n\r\n`,
  'a bare line feed in a header': `GET /apps HTTP/1.1\r\nHost: ${host}\r\nX-Line: a\rb\r\n\r\n`,
  'a space in the path': `GET /apps /users HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
  'an unknown method': `STEAL /apps HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
  'another protocol version': `GET /apps HTTP/3.0\r\nHost: ${host}\r\n\r\n`,
  'no HTTP': 'EHLO there\r\n\r\n',
  'the beginning of TLS': '\u0016\u0003\u0001\u0002\0\u0001\0\u0001\u00fc\u0003\u0003',
  'the beginning of HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
};

describe('HTTP framing', () => {
  afterEach(async () => {
    const alive = await fetch(`${service.url}/health/live`);
    expect(alive.status).toBe(200);
  });

  it.each(Object.entries(BROKEN))('refuses %s and closes the connection at once', async (_, bytes) => {
    const response = await sendRaw(service.url, bytes);

    expect(response.status).toBe(400);
    expect(faultsInError(response)).toEqual([]);
    expect(response.closedAfterMs).toBeLessThan(5_000);
  });

  it('sends no response to a request behind a malformed one', async () => {
    const second = requestBytes({ path: '/health/live', headers: [`Host: ${host}`] });

    const response = await sendRaw(
      service.url,
      `GET /apps HTTP/1.1\r\nHost: ${host}\r\nContent-Length: x\r\n\r\n${second}`,
    );

    expect(response.status).toBe(400);
    expect(response.body).not.toContain('"ok"');
  });

  it('responds only to the valid request before malformed bytes', async () => {
    const good = requestBytes({ path: '/health/ready', headers: [`Host: ${host}`, 'X-Request-Id: good'] });

    const response = await sendRaw(service.url, `${good}BROKEN\r\n\r\n`);

    expect({ status: response.status, id: response.headers.get('x-request-id') }).toEqual({ status: 200, id: 'good' });
    expect(response.body).not.toContain('HTTP/1.1');
  });

  it('responds to pipelined requests in order', async () => {
    const one = requestBytes({ path: '/health/live', headers: [`Host: ${host}`, 'X-Request-Id: one'] });
    const two = requestBytes({
      path: '/health/live',
      headers: [`Host: ${host}`, 'X-Request-Id: two', 'Connection: close'],
    });

    const { headers, body } = await sendRaw(service.url, one + two);

    expect(headers.get('x-request-id')).toBe('one');
    expect(body.match(/x-request-id: (\w+)/i)?.[1]).toBe('two');
  });

  it('ignores a protocol upgrade', async () => {
    const headers = [`Host: ${host}`, 'Connection: Upgrade', 'Upgrade: websocket'];

    const response = await sendRaw(
      service.url,
      requestBytes({ path: '/health/live', headers: [...headers, 'Connection: close'] }),
    );

    expect([101, 500]).not.toContain(response.status);
  });

  it('refuses a request without Host and closes the connection', async () => {
    const response = await sendRaw(service.url, requestBytes({ path: '/apps' }));

    expect(response.status).toBe(400);
  });

  it('sends a readable refusal for a body that is too large', async () => {
    const headers = [`Host: ${host}`, 'Content-Type: application/json', 'Content-Length: 71680'];

    const response = await sendRaw(
      service.url,
      requestBytes({ method: 'POST', path: '/apps', headers, body: ' '.repeat(71_680) }),
    );

    expect([405, 413]).toContain(response.status);
    expect(faultsInError(response)).toEqual([]);
  });

  it.each([
    ['of JSON', 'POST', '/apps', 'application/json'],
    ['of anything', 'POST', '/apps', 'application/octet-stream'],
    ['to nowhere', 'POST', '/nothing-here', 'application/json'],
    ['of a GET', 'GET', '/apps', 'application/json'],
    ['of a GET of the health', 'GET', '/health/live', 'application/json'],
  ])('stops reading an endless chunked body %s', async (_, method, path, type) => {
    const chunk = `400\r\n${' '.repeat(1_024)}\r\n`;
    const headers = [`Host: ${host}`, `Content-Type: ${type}`, 'Transfer-Encoding: chunked'];
    let sent = 0;

    const response = await sendRaw(service.url, requestBytes({ method, path, headers }), (socket) => {
      const more = (): void => {
        while (!socket.destroyed && sent < ENDLESS_BYTES) {
          sent += chunk.length;
          if (!socket.write(chunk)) return void socket.once('drain', more);
        }
      };
      more();
    });

    // A client that is still sending when the connection is closed may lose the response.
    expect([undefined, 200, 401, 404, 405, 413]).toContain(response.status);
    expect(sent).toBeLessThan(ENDLESS_BYTES);
    expect(response.closedAfterMs).toBeLessThan(5_000);
  });

  it('waits at most ten seconds for headers', async () => {
    const start = `GET /apps HTTP/1.1\r\nHost: ${host}\r\nX-Slow: `;

    const response = await sendRaw(service.url, start, (socket) => {
      const drip = setInterval(() => socket.writable && socket.write('a'), 500);
      socket.once('close', () => clearInterval(drip));
    });

    expect(response.status).toBe(408);
    expect(faultsInError(response)).toEqual([]);
    expect(response.closedAfterMs).toBeGreaterThan(9_000);
    expect(response.closedAfterMs).toBeLessThan(15_000);
  });

  it('waits at most fifteen seconds for an announced body', async () => {
    const headers = [`Host: ${host}`, 'Content-Type: application/json', 'Content-Length: 100'];

    const response = await sendRaw(service.url, requestBytes({ method: 'POST', path: '/apps', headers, body: '{' }));

    expect([405, 408]).toContain(response.status);
    expect(response.closedAfterMs).toBeLessThan(20_000);
  });
});
