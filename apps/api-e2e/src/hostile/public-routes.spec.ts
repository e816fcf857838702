import { serviceOfTheRun } from '../service.js';
import { sendRawRequest, faultsInError, type RawResponse, sendRaw } from './raw-request.js';

const service = serviceOfTheRun();
const { host } = new URL(service.url);

const ASSETS = ['/docs/page.js', '/docs/page.css', '/docs/swagger-ui.css', '/docs/favicon-32x32.png'];
const ROUTES = [
  ...ASSETS,
  '/docs',
  '/docs/',
  '/docs/sign-in',
  '/docs/order-states.svg',
  '/openapi.json',
  '/health/live',
  '/health/ready',
];

const LONG_AGO = 'Sun, 06 Nov 1994 08:49:37 GMT';

/** Headers that a library may parse wrongly. */
const HEADERS: readonly string[] = [
  ...[
    'bytes=0-0',
    'bytes=0-',
    'bytes=-1',
    'bytes=-0',
    'bytes=1-0',
    'bytes=999999999-',
    'bytes=0-0,2-2,4-4',
    'bytes=',
    'bytes=a-b',
    'chapters=1-2',
    '',
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
  ...[
    '*',
    host,
    `http://${host}`,
    `http://${host}/docs`,
    `http://${host}/docs/page.js`,
    'http://evil.example/docs',
    'http:///docs',
    'http://[::1/docs',
    'ftp://a/b',
  ],
  ...[
    '//',
    '//docs',
    '/docs//page.js',
    '/docs/../docs/page.js',
    '/docs/./page.js',
    '/./docs',
    '/..',
    '/../',
    '/..%2fpackage.json',
  ],
  ...[
    '/docs/%2e%2e/package.json',
    '/docs/%2e%2e%2f%2e%2e%2fpackage.json',
    '/docs/..%5cpackage.json',
    '/docs/%252e%252e/package.json',
    '/docs/.page.js',
  ],
  ...[
    '/docs/%',
    '/docs/%zz',
    '/docs/%00',
    '/docs/page.js%00.png',
    '/docs/%c0%af',
    '/%ff',
    '/docs/%E0%A4%A',
    '/docs?%',
    '/docs?a=%E0%A4%A',
    '/docs#a',
  ],
  ...[
    '/docs;a=b',
    '/docs/page.js/',
    '/docs/page.js?x=../..',
    '/openapi.json/',
    '/health/live%2f',
    '/health%2flive',
    '/docs\\page.js',
    '?',
    '/?',
    '#',
  ],
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

describe('public routes', () => {
  it.each(ROUTES)('send valid responses to GET and HEAD of %s with each header', async (route) => {
    const gets = HEADERS.map((header) => ['GET', route, header] as const);
    const heads = HEADERS.map((header) => ['HEAD', route, header] as const);

    // A length or a coding without its body waits for the rest. framing.spec.ts tests these.
    await expectSound(
      [...gets, ...heads].filter(([, , header]) => !/^(Content-Length: 9|Transfer-Encoding: ch)/.test(header)),
    );
  });

  it.each(METHODS)('send valid responses to %s of each target', async (method) => {
    await expectSound([...ROUTES, ...TARGETS].map((target) => [method, target] as const));
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
