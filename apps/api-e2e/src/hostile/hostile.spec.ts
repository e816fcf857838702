import { testOrProve } from '@banking/postgres/testing';
import { fetchDocument } from '../documented/read-document.js';
import { ADA, serviceOfTheRun } from '../service.js';
import { faultsInError, type RawResponse, requestBytes, sendRaw, sendRawRequest } from './raw-request.js';
import { callOf, routesOf } from '../documented/document.js';
import { refusesHostile } from './refuses-hostile.js';

const service = serviceOfTheRun();
const { host } = new URL(service.url);

/** More than all buffers in between hold, so that a service that accepts this has not stopped reading. */
const ENDLESS_BYTES = 64 * 1024 * 1024;

/** Requests whose end is ambiguous, or that are no HTTP. */
const BROKEN: Readonly<Record<string, string>> = {
  'two Host lines': `GET /apps HTTP/1.1\r\nHost: ${host}\r\nHost: evil.example\r\nConnection: close\r\n\r\n`,
  'an unknown transfer coding': `POST /apps HTTP/1.1\r\nHost: ${host}\r\nTransfer-Encoding: xchunked\r\n\r\n`,
  'a transfer coding before chunks': `POST /apps HTTP/1.1\r\nHost: ${host}\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`,
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

  // At once, because each takes long.
  it('waits at most ten seconds for headers, and fifteen for an announced body', async () => {
    const start = `GET /apps HTTP/1.1\r\nHost: ${host}\r\nX-Slow: `;
    const headers = [`Host: ${host}`, 'Content-Type: application/json', 'Content-Length: 100'];

    const [slow, unfinished] = await Promise.all([
      sendRaw(service.url, start, (socket) => {
        const drip = setInterval(() => socket.writable && socket.write('a'), 500);
        socket.once('close', () => clearInterval(drip));
      }),
      sendRaw(service.url, requestBytes({ method: 'POST', path: '/apps', headers, body: '{' })),
    ]);

    expect(slow.status).toBe(408);
    expect(faultsInError(slow)).toEqual([]);
    expect(slow.closedAfterMs).toBeGreaterThan(9_000);
    expect(slow.closedAfterMs).toBeLessThan(15_000);
    expect([405, 408]).toContain(unfinished.status);
    expect(unfinished.closedAfterMs).toBeLessThan(20_000);
  });
});

/** A body and its headers. */
interface SentBody {
  readonly headers: readonly string[];
  readonly body?: string;
}

const JSON_TYPE = 'Content-Type: application/json';

const BODIES: Readonly<Record<string, SentBody>> = {
  'no body': { headers: [] },
  'malformed JSON': { headers: [JSON_TYPE, 'Content-Length: 1'], body: '{' },
  'a body of 70 KiB': { headers: [JSON_TYPE, 'Content-Length: 71680'], body: ' '.repeat(71_680) },
  'another media type': { headers: ['Content-Type: text/plain', 'Content-Length: 5'], body: 'hello' },
  'no media type': { headers: ['Content-Length: 2'], body: '{}' },
  'a packed body': { headers: [JSON_TYPE, 'Content-Encoding: gzip', 'Content-Length: 2'], body: '{}' },
  'two media types': { headers: [JSON_TYPE, JSON_TYPE, 'Content-Length: 2'], body: '{}' },
  'an invalid idempotency key': { headers: [JSON_TYPE, 'Idempotency-Key: a b', 'Content-Length: 2'], body: '{}' },
  'a body that does not arrive': { headers: [JSON_TYPE, 'Content-Length: 100'], body: '{' },
  'chunks that do not end': { headers: [JSON_TYPE, 'Transfer-Encoding: chunked'], body: '1\r\n{\r\n' },
  'a body after 100 Continue': { headers: [JSON_TYPE, 'Expect: 100-continue', 'Content-Length: 2'] },
};

describe('operations that require a credential, without one', () => {
  let routes: ReturnType<typeof routesOf>;

  beforeAll(async () => {
    const document = await fetchDocument(service);
    routes = routesOf(document).filter(({ operation }) => operation.security.length > 0);
    expect(routes.length).toBeGreaterThan(25);
  });

  // The credential is checked before the body is read, by one hook for all operations: each gets one body in turn.
  it.each(Object.entries(BODIES).map(([name, body], index) => ({ name, body, index })))(
    'respond to $name with 401',
    async ({ body: { headers, body = '' }, index }) => {
      const count = Object.keys(BODIES).length;
      const chosen = routes.filter((_, position) => testOrProve(position % count === index, true));
      expect(chosen.length).toBeGreaterThan(1);
      for (const route of chosen) {
        const { method, path } = callOf(route);

        const response = await sendRawRequest(service.url, { method, path, headers, body });

        expect([method, path, response.status, response.headers.get('www-authenticate')]).toEqual([
          method,
          path,
          401,
          'Bearer',
        ]);
        expect(faultsInError(response)).toEqual([]);
      }
    },
  );

  it('close the connection of a body without an end', async () => {
    const { method, path } = callOf(routes.find((route) => route.operation.requestBody)!);
    const lines = [`Host: ${host}`, JSON_TYPE, 'Transfer-Encoding: chunked'];

    const response = await sendWithoutEnd(requestBytes({ method, path, headers: lines }));

    expect(response.status).toBe(401);
  });
});

describe('operations that read a body', () => {
  it('refuse a body without an end once it is too large, and close its connection', async () => {
    const token = await service.tokenOf(ADA);
    const document = await fetchDocument(service);
    const route = routesOf(document).find(({ operation }) => operation.operationId === 'placeOrder')!;
    const { method, path, headers } = callOf(route);
    const own = Object.entries({ ...headers, Authorization: `Bearer ${token}` }).map((line) => line.join(': '));
    const lines = [`Host: ${host}`, ...own, JSON_TYPE, 'Transfer-Encoding: chunked'];

    const response = await sendWithoutEnd(requestBytes({ method, path, headers: lines }));

    expect(response.status).toBe(413);
    expect(faultsInError(response)).toEqual([]);
  });
});

/** Sends chunks after a head. Resolves once the service has closed the connection. */
function sendWithoutEnd(head: string): Promise<RawResponse> {
  const chunk = `400\r\n${' '.repeat(1_024)}\r\n`;
  return sendRaw(service.url, head, (socket) => {
    const more = (): void => {
      while (!socket.destroyed && socket.writable) if (!socket.write(chunk)) return void socket.once('drain', more);
    };
    more();
  });
}

refusesHostile('hostile requests', serviceOfTheRun);

const ASSETS = ['/docs/page.js', '/docs/page.css', '/docs/swagger-ui.css', '/docs/favicon-32x32.png'];
const ROUTES = [
  ...ASSETS,
  ...['/docs', '/docs/', '/docs/sign-in', '/docs/order-states.svg', '/openapi.json', '/health/live', '/health/ready'],
];

const LONG_AGO = 'Sun, 06 Nov 1994 08:49:37 GMT';

/** Headers that a library may parse wrongly. */
const HEADERS: readonly string[] = [
  ...[
    ...['bytes=0-0', 'bytes=0-', 'bytes=-1', 'bytes=-0', 'bytes=1-0', 'bytes=999999999-', 'bytes=0-0,2-2,4-4'],
    ...['bytes=', 'bytes=a-b', 'chapters=1-2', ''],
  ].map((value) => `Range: ${value}`),
  ...['"x"', 'W/"x"', '*', '', '"', ', ,'].flatMap((tag) => [`If-Match: ${tag}`, `If-None-Match: ${tag}`]),
  ...[LONG_AGO, 'tomorrow', '', '0'].flatMap((date) => [`If-Unmodified-Since: ${date}`, `If-Modified-Since: ${date}`]),
  ...['"x"', LONG_AGO, 'x'].map((value) => `If-Range: ${value}`),
  ...['gzip, ;', '*;q=0', 'identity;q=0', 'br;q=a', ', ,', 'a'.repeat(2_000)].map(
    (value) => `Accept-Encoding: ${value}`,
  ),
  ...['trailers', 'gzip;q=', ', ,'].map((value) => `TE: ${value}`),
  ...['100-continue', 'a-miracle', ''].map((value) => `Expect: ${value}`),
  ...['*/*;q=2', ';', 'a/b/c'].map((value) => `Accept: ${value}`),
  ...['max-age=a', 'only-if-cached'].map((value) => `Cache-Control: ${value}`),
  ...['0', '1', '99999999', '1e1', '+1', '-1', ''].map((value) => `Content-Length: ${value}`),
  ...['chunked', 'gzip, chunked', 'identity', ''].map((value) => `Transfer-Encoding: ${value}`),
  ...['websocket', 'h2c', ''].map((value) => `Upgrade: ${value}`),
  ...['null', 'https://evil.example', ''].map((value) => `Origin: ${value}`),
  ...['-1', 'a', '0'].map((value) => `Max-Forwards: ${value}`),
];

/** Request targets in every form of RFC 9112, section 3.2, and paths that try to leave the folder. */
const TARGETS: readonly string[] = [
  ...['*', host, `http://${host}`, `http://${host}/docs`, `http://${host}/docs/page.js`, 'http://evil.example/docs'],
  ...['http:///docs', 'http://[::1/docs', 'ftp://a/b', '//', '//docs', '/docs//page.js', '/docs/../docs/page.js'],
  ...['/docs/./page.js', '/./docs', '/..', '/../', '/..%2fpackage.json', '/docs/%2e%2e/package.json'],
  ...['/docs/%2e%2e%2f%2e%2e%2fpackage.json', '/docs/..%5cpackage.json', '/docs/%252e%252e/package.json'],
  ...['/docs/.page.js', '/docs/%', '/docs/%zz', '/docs/%00', '/docs/page.js%00.png', '/docs/%c0%af', '/%ff'],
  ...['/docs/%E0%A4%A', '/docs?%', '/docs?a=%E0%A4%A', '/docs#a', '/docs;a=b', '/docs/page.js/'],
  ...['/docs/page.js?x=../..', '/openapi.json/', '/health/live%2f', '/health%2flive', '/docs\\page.js'],
  ...['?', '/?', '#'],
];

const METHODS = ['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'DELETE', 'TRACE', 'PROPFIND', 'CONNECT', 'QUERY'];

/** The faults in a response to a malformed or unusual request. */
function faultsIn(response: RawResponse, method: string): string[] {
  // Node closes the connection of CONNECT without a call of the service.
  if (response.status === undefined) return method === 'CONNECT' ? [] : ['it has no response'];
  if (response.status >= 500) return [`the status is ${response.status}`];
  const missing = ['x-request-id', 'x-content-type-options', 'content-security-policy'].filter(
    (name) => !response.headers.has(name),
  );
  const inForm = response.status < 400 || method === 'HEAD' ? [] : faultsInError(response);
  return [...missing.map((name) => `it has no ${name}`), ...inForm];
}

async function expectSound(requests: readonly (readonly [method: string, target: string, header?: string])[]) {
  const wrong: string[] = [];
  for (const [method, target, header] of requests) {
    const lines = [`${method} ${target} HTTP/1.1`, `Host: ${host}`, ...(header ? [header] : []), 'Connection: close'];
    const response = await sendRaw(service.url, `${lines.join('\r\n')}\r\n\r\n`);
    const name = `${method} ${target} with ${header}`;
    wrong.push(...faultsIn(response, method).map((fault) => `${name}: ${fault}`));
  }
  expect(wrong).toEqual([]);
}

/** One route of each handler. `npm run prove` tries all. */
const SOME_ROUTES = testOrProve(['/docs/page.js', '/docs', '/openapi.json', '/health/ready'], ROUTES);
const SOME_TARGETS = testOrProve([...SOME_ROUTES, ...TARGETS], [...ROUTES, ...TARGETS]);

describe('public routes', () => {
  it.each(SOME_ROUTES)('send valid responses to GET and HEAD of %s with each header', async (route) => {
    const gets = HEADERS.map((header) => ['GET', route, header] as const);
    const heads = HEADERS.filter((_, index) => testOrProve(index % 4 === 0, true)).map(
      (header) => ['HEAD', route, header] as const,
    );

    // A length or a coding without its body waits for the rest, as tested above.
    await expectSound(
      [...gets, ...heads].filter(([, , header]) => !/^(Content-Length: 9|Transfer-Encoding: ch)/.test(header)),
    );
  });

  it.each(METHODS)('send valid responses to %s of each target', async (method) => {
    // The handlers of the other methods are those of all targets: each gets every third.
    const isChosen = (index: number) =>
      testOrProve(method === 'GET' || index % 3 === METHODS.indexOf(method) % 3, true);
    await expectSound(SOME_TARGETS.filter((_, index) => isChosen(index)).map((target) => [method, target] as const));
  });
});

describe('files of the docs page', () => {
  it.each(ASSETS)('ignore a range in a request for %s', async (path) => {
    const whole = await sendRawRequest(service.url, { path });
    for (const range of ['bytes=0-0', 'bytes=999999999-']) {
      const response = await sendRawRequest(service.url, { path, headers: [`Range: ${range}`] });

      expect([response.status, response.body === whole.body]).toEqual([200, true]);
    }
  });

  it.each(ASSETS)('apply the conditions of a request for %s', async (path) => {
    const sendRequest = async (...headers: string[]) => sendRawRequest(service.url, { path, headers });
    const etag = (await sendRequest()).headers.get('etag') ?? '';
    const failed = await sendRequest('If-Match: "other"');

    expect([failed.status, (JSON.parse(failed.body) as { reason: string }).reason]).toEqual([
      412,
      'precondition_failed',
    ]);
    expect(faultsInError(failed)).toEqual([]);
    // The files have no time of modification, so a condition on it is ignored.
    expect((await sendRequest(`If-Unmodified-Since: ${LONG_AGO}`)).status).toBe(200);
    expect((await sendRequest(`If-Match: ${etag}`)).status).toBe(200);
    expect((await sendRequest(`If-None-Match: ${etag}`)).status).toBe(304);
  });
});

describe('service without allowed origins', () => {
  it.each(['/apps', '/docs', '/accounts/1/orders'])(
    'refuses OPTIONS of %s and lists the allowed methods',
    async (path) => {
      const preflight = ['Origin: https://app.example', 'Access-Control-Request-Method: GET'];
      for (const headers of [[], preflight]) {
        const response = await sendRawRequest(service.url, { method: 'OPTIONS', path, headers });

        expect([response.status, response.headers.has('access-control-allow-origin')]).toEqual([405, false]);
        expect(response.headers.get('allow')).toMatch(/^(GET, HEAD|POST)$/);
        expect(faultsInError(response)).toEqual([]);
      }
    },
  );

  it('refuses OPTIONS of an unknown path and of the whole server', async () => {
    for (const path of ['/nothing-here', '*']) {
      const response = await sendRawRequest(service.url, { method: 'OPTIONS', path });

      expect([response.status, faultsInError(response)]).toEqual([404, []]);
    }
  });
});
