import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CANARY } from '../log-lines.js';
import { AttackedGateway, type Behaviour, body, json } from './attacked-gateway.js';
import { faultsIn } from '../contract/shapes.js';

/** A refusal of `GET /transfers/1` by an upstream, and the response of the gateway to the caller. */
interface HostileRefusal {
  readonly what: string;
  readonly behaviour: Behaviour;
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
  /** Retry-After of the response, absent if there is none. */
  readonly retryAfter?: string;
  /** The level of the log line, absent if the upstream has only refused the caller. */
  readonly level?: 'warn' | 'error';
}

const ERROR = {
  status: 502,
  body: { errorCode: 'upstream_error', reason: 'upstream_error' },
  level: 'warn',
} as const;
const TIMEOUT = {
  status: 504,
  body: { errorCode: 'upstream_timeout', reason: 'upstream_timeout' },
  level: 'warn',
} as const;
const busy = (retryAfter = '1') =>
  ({ status: 503, body: { errorCode: 'unavailable', reason: 'unavailable' }, retryAfter, level: 'warn' }) as const;
const limited = (retryAfter = '1') =>
  ({ ...busy(retryAfter), status: 429, body: { errorCode: 'rate_limited', reason: 'rate_limited' } }) as const;
const ALARM = { ...busy(), level: 'error' } as const;

const published = (status: number, message = 'No.', headers: Readonly<Record<string, string>> = {}) =>
  json({ errorCode: 'their_code', message }, status, headers);
const known = (status: number, errorCode: string, reason: string, headers: Readonly<Record<string, string>> = {}) =>
  json({ errorCode, message: 'No.', reason, requestId: 'theirs' }, status, headers);
const html = (status: number) => body(`<html>${CANARY}</html>`, { 'content-type': 'text/html' }, status);

type Expected = Omit<HostileRefusal, 'what' | 'behaviour'>;
const refusals = (expected: Expected, rows: readonly (readonly [what: string, behaviour: Behaviour])[]) =>
  rows.map(([what, behaviour]): HostileRefusal => ({ what, behaviour, ...expected }));

const DETAILS = [{ path: 'transferId', reason: 'id_malformed', message: 'No.' }];
const MALFORMED = { errorCode: 'invalid_request', message: 'No.', reason: 'id_malformed', details: DETAILS };
const MARKUP = '<script>alert(1)</script>\r\nSet-Cookie: a=b';

/** Refusals of the request of the caller, which the gateway forwards. */
const PASSED_ON: readonly HostileRefusal[] = [
  {
    what: '404 with a reason of the table',
    behaviour: known(404, 'invalid_request', 'transfer_not_found'),
    status: 404,
    body: { errorCode: 'invalid_request', message: 'No.', reason: 'transfer_not_found' },
  },
  {
    what: '404 with the published fields only',
    behaviour: published(404),
    status: 404,
    body: { errorCode: 'their_code', message: 'No.', reason: 'transfer_not_found' },
  },
  {
    what: '404 with an unknown reason',
    behaviour: known(404, 'gone', 'moved_away'),
    status: 404,
    body: { errorCode: 'gone', reason: 'moved_away' },
  },
  {
    what: '400 with the published fields only',
    behaviour: published(400),
    status: 400,
    body: { errorCode: 'their_code', message: 'No.', reason: 'their_code' },
  },
  {
    what: '400 with details',
    behaviour: json(MALFORMED, 400),
    status: 400,
    body: { reason: 'id_malformed', details: DETAILS },
  },
  {
    what: '400 with a message that holds markup',
    behaviour: published(400, MARKUP),
    status: 400,
    body: { message: MARKUP },
  },
];

const unavailable = (headers?: Readonly<Record<string, string>>) => known(503, 'unavailable', 'unavailable', headers);
const notOurs = (what: string, error: unknown, status: number) => [what, json(error, status)] as const;
const JSON_TYPE = { 'content-type': 'application/json' };
const DEEP = `{"errorCode":"x","message":"${CANARY}","x":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;

/** Failures between the upstream and the gateway, which the caller does not see. */
const KEPT_BACK: readonly HostileRefusal[] = [
  ...refusals(ALARM, [
    ['401 with a reason', known(401, 'invalid_request', 'not_authenticated', { 'www-authenticate': 'Bearer' })],
    ['401 with nothing', body('', {}, 401)],
    notOurs('401 with a code that is anything', { errorCode: CANARY, message: CANARY }, 401),
    ['403 with a reason', known(403, 'forbidden', 'workspace_forbidden')],
    ['403 with the published fields only', published(403)],
    ['403 in HTML', html(403)],
  ]),
  ...refusals(limited('7'), [['429 with a time', known(429, 'rate_limited', 'rate_limited', { 'retry-after': '7' })]]),
  ...refusals(limited(), [
    ['429 without a time', published(429)],
    notOurs('429 with a reason that is anything', { errorCode: CANARY, message: CANARY, reason: CANARY }, 429),
  ]),
  ...refusals(busy('2'), [['503 with a time', unavailable({ 'retry-after': '2' })]]),
  ...refusals(busy('3'), [['503 with a time in HTML', body('', { 'retry-after': '3' }, 503)]]),
  ...refusals(busy(), [
    ['503 without a time', unavailable()],
    ['503 with a time that is nonsense', unavailable({ 'retry-after': 'soon' })],
    ['503 with a time written as 1e9', unavailable({ 'retry-after': '1e9' })],
  ]),
  ...refusals(TIMEOUT, [['504 of another gateway', known(504, 'upstream_timeout', 'upstream_timeout')]]),
  ...refusals(ERROR, [
    ['503 without a time and a reason', published(503)],
    ...[500, 501, 502, 507, 511, 599].map(
      (status) => [`${status} with the published fields`, published(status)] as const,
    ),
    notOurs('500 with a code that is anything', { errorCode: CANARY, message: CANARY }, 500),
    notOurs('500 with a reason that is anything', { errorCode: 'x', message: CANARY, reason: CANARY }, 500),
    ['500 in HTML', html(500)],
    ['500 with a reason', known(500, 'internal_error', 'internal_error')],
    ['502 of another gateway', known(502, 'upstream_error', 'upstream_error')],
    ...[405, 406, 408, 413, 414, 415, 431].map(
      (status) => [`${status}, which only we can have caused`, published(status)] as const,
    ),
    ['400 for a header of ours', known(400, 'invalid_request', 'workspace_id_invalid')],
    ...[400, 404, 409, 422].map((status) => [`${status} in HTML`, html(status)] as const),
    notOurs('404 without a message', { errorCode: 'x' }, 404),
    notOurs('404 without a code', { message: CANARY }, 404),
    notOurs('404 with a code that is a number', { errorCode: 404, message: CANARY }, 404),
    notOurs('404 with a message that is an object', { errorCode: 'x', message: { [CANARY]: 1 } }, 404),
    ['404 that nests 100,000 deep', body(DEEP, JSON_TYPE, 404)],
    notOurs('404 as a list', [{ errorCode: 'x', message: CANARY }], 404),
    ['422 that is cut off', body('{"errorCode":"x","mess', JSON_TYPE, 422)],
    ['304 to an unconditional request', body('', {}, 304)],
    ['300', published(300)],
  ]),
];

let attacked: AttackedGateway;
beforeAll(async () => {
  // After a 429 the next request waits for a second, which has to be less than half of this.
  attacked = await AttackedGateway.start({ UPSTREAM_TIMEOUT_MS: '10000' });
});
afterAll(() => attacked?.stop());

describe('gateway with an upstream that refuses', () => {
  afterEach(async () => {
    attacked.upstream.behaviour = json([]);
    expect(await attacked.sendRequest('/accounts')).toMatchObject({ status: 200, body: [] });
    expect(attacked.wrongLines()).toEqual([]);
  });

  it.each<HostileRefusal>([...PASSED_ON, ...KEPT_BACK])(
    'responds with $status to an upstream $what',
    async ({ behaviour, status, body: expected, retryAfter, level }) => {
      attacked.upstream.behaviour = behaviour;

      const response = await attacked.requestAndReadLog('/transfers/1');

      expect(response).toMatchObject({ status, body: expected });
      expect(faultsIn(response.body, 'ErrorBody')).toEqual([]);
      expect(response.body).toMatchObject({ requestId: response.headers.get('x-request-id') });
      expect(response.headers.get('retry-after')).toBe(retryAfter ?? null);
      expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
      expect(response.headers.has('www-authenticate') || response.headers.has('set-cookie')).toBe(false);
      expect(response.text + response.lines.join()).not.toContain(CANARY);
      expect(response.lines.map((line) => (JSON.parse(line) as { level: string }).level)).toEqual([
        ...(level ? [level] : []),
        status >= 500 ? 'warn' : 'info',
      ]);
    },
  );

  it('delays the next request of the workspace after a 429', async () => {
    attacked.upstream.behaviour = json({ errorCode: 'x', message: 'No.' }, 429);
    expect((await attacked.sendRequest('/transfers/1')).status).toBe(429);
    attacked.upstream.received.length = 0;
    attacked.upstream.behaviour = json({ id: 1, amount: '1' });

    expect((await attacked.sendRequest('/transfers/1')).status).toBe(200);
    expect(attacked.upstream.received).toHaveLength(1);
  });

  it('forwards an undocumented status in the published form', async () => {
    attacked.upstream.behaviour = json({ errorCode: 'teapot', message: 'Short and stout.' }, 418);
    const headers = {
      authorization: `Bearer ${await attacked.service.tokenOf('ada@northwind.example')}`,
      'workspace-id': '1',
    };

    const response = await fetch(`${attacked.service.url}/transfers/1`, { headers });

    expect([response.status, await response.json()]).toEqual([
      418,
      {
        errorCode: 'teapot',
        message: 'Short and stout.',
        reason: 'teapot',
        requestId: response.headers.get('x-request-id'),
      },
    ]);
  });

  it('removes the upstream credential from errors and the log', async () => {
    for (const status of [400, 401, 404, 500]) {
      attacked.upstream.behaviour = (response, request) => {
        const message = `You sent ${request.headers.authorization ?? ''} (${attacked.token}).`;
        json(
          {
            errorCode: attacked.token,
            message,
            reason: attacked.token,
            details: [{ path: attacked.token, reason: attacked.token, message }],
          },
          status,
        )(response, request);
      };

      const response = await attacked.requestAndReadLog('/transfers/1');

      expect([status, response.text]).toEqual([status, expect.not.stringContaining('eyJ')]);
      expect(response.lines.join()).not.toContain('eyJ');
    }
  });

  it.each([
    '1000000000',
    '-1',
    'Fri, 31 Dec 9999 23:59:59 GMT',
    'Thu, 01 Jan 1970 00:00:00 GMT',
    '99999999999999999999',
  ])('sends a usable Retry-After or an upstream error for Retry-After %s', async (retryAfter) => {
    attacked.upstream.behaviour = json({ errorCode: 'unavailable', message: 'No.', reason: 'unavailable' }, 503, {
      'retry-after': retryAfter,
    });

    const { status, headers } = await attacked.sendRequest('/transfers/1');

    expect([502, 503]).toContain(status);
    if (status === 503) expect(Number(headers.get('retry-after'))).toBeLessThanOrEqual(86_400);
  });

  describe('redirects', () => {
    let elsewhere: Server;
    let requests: number;
    beforeAll(async () => {
      requests = 0;
      elsewhere = createServer((_, response) => {
        requests += 1;
        response.setHeader('content-type', 'application/json').end('{"id":1,"amount":"1"}');
      });
      await once(elsewhere.listen(0, '127.0.0.1'), 'listening');
    });
    afterAll(async () => {
      await once(elsewhere.close(), 'close');
    });

    it.each([301, 302, 303, 307, 308])('does not follow a redirect with %s', async (status) => {
      const there = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}`;
      const locations = [`${there}/transfers/1`, `${attacked.upstream.url}/transfers/1`, '/transfers/1', ''];
      for (const location of status === 307 ? locations : locations.slice(0, 1)) {
        attacked.upstream.received.length = 0;
        attacked.upstream.behaviour = body('', { location }, status);

        const response = await attacked.requestAndReadLog('/transfers/1');

        expect(response).toMatchObject({ status: 502, body: { reason: 'upstream_error' } });
        expect(response.headers.has('location')).toBe(false);
        expect(response.lines[0]).toMatch(/redirect/);
        expect(attacked.upstream.received).toHaveLength(1);
        attacked.upstream.behaviour = json([]);
        await attacked.sendRequest('/accounts');
      }
      expect(requests).toBe(0);
    });
  });
});

const DAYS = 'from=2026-01-01&to=2026-02-01';
const STATEMENT = `/accounts/1/statement?${DAYS}`;

const movement = (more: object = {}) => ({
  id: 1,
  transactionID: 1,
  direction: 'credit',
  amount: '1',
  type: 'funding',
  valueDate: '2026-01-02',
  createdAt: '2026-01-02T00:00:00.000Z',
  balanceAfter: 1,
  ...more,
});
const statement = (more: object = {}, account: object = {}, currency: object = {}) => ({
  from: '2026-01-01',
  to: '2026-02-01',
  basis: 'valueDate',
  openingBalance: 0,
  closingBalance: 1,
  movements: [movement()],
  edges: {
    account: {
      id: 1,
      name: 'N',
      code: 'C1',
      edges: { currency: { id: 1, code: 'EUR', name: 'Euro', ...currency } },
      ...account,
    },
  },
  ...more,
});

describe('gateway with invalid lists and statements', () => {
  afterEach(async () => {
    attacked.upstream.behaviour = json([]);
    expect(await attacked.sendRequest('/accounts')).toMatchObject({ status: 200, body: [] });
    expect(attacked.wrongLines()).toEqual([]);
  });

  const nextOf = ({ headers }: { readonly headers: Headers }) => headers.get('link');

  it.each([
    ['leads elsewhere', '<https://evil.example/steal?cursor=abc>; rel="next"', 'abc'],
    ['is of another path', '</apps/1/users?cursor=abc&limit=1>; rel=next', 'abc'],
    ['leads to the page itself', '</transfers?limit=2&cursor=before>; rel="next"', 'before'],
    ['holds a line break', '</transfers?cursor=a%0d%0aSet-Cookie:%20a=b>; rel="next"', 'a\r\nSet-Cookie: a=b'],
    ['holds what closes a link', '</transfers?cursor=a%3E%3B%20rel%3Dx>; rel="next"', 'a>; rel=x'],
    [
      'is the second of two',
      `<https://evil.example/${CANARY}>; rel="prev", </transfers?cursor=abc>; rel="next"`,
      'abc',
    ],
  ])('links to itself with the unchanged cursor if the next link of the upstream %s', async (_, link, cursor) => {
    attacked.upstream.behaviour = json([], 200, { link });

    const response = await attacked.sendRequest('/transfers?limit=2&cursor=before');

    expect(response.status).toBe(200);
    const [, target = '', rest] = /^<([^<>]*)>(.*)$/.exec(nextOf(response) ?? '') ?? [];
    expect(rest).toBe('; rel="next"');
    expect(target).toMatch(/^\/transfers\?/);
    expect([...new URL(target, 'http://us').searchParams]).toEqual([
      ['limit', '2'],
      ['cursor', cursor],
    ]);
    expect(response.headers.has('set-cookie')).toBe(false);

    await attacked.sendRequest(target);
    expect(new URL(attacked.upstream.received.at(-1)?.path ?? '', 'http://them').searchParams.get('cursor')).toBe(
      cursor,
    );
  });

  it.each<[string, Behaviour]>([
    ['names a next page without a cursor', json([], 200, { link: '</transfers?page=2>; rel="next"' })],
    ['is an object', json({ items: [] })],
    ['holds what is no transfer', json([{ id: 1, amount: 1 }])],
    ['holds null', json([null])],
    ['is followed by 16 MiB of blanks', json([{ id: 1, amount: '1', description: ' '.repeat(17 * 1024 * 1024) }])],
  ])('rejects a list that %s', async (_, behaviour) => {
    attacked.upstream.behaviour = behaviour;

    expect(await attacked.sendRequest('/transfers')).toMatchObject({ status: 502, body: { reason: 'upstream_error' } });
  });

  it.each([
    ['has an unknown currency', statement({}, {}, { code: 'XQX' })],
    ['counts in a currency without a smallest unit', statement({}, {}, { code: 'XAU' })],
    ['has decimals without end', statement({}, {}, { decimals: 1_000_000_000 })],
    ['has an amount that no account holds', statement({ movements: [movement({ amount: '9999999999999999999' })] })],
    [
      'has members where a column takes a text',
      statement({ movements: [movement({ line: { a: 1 }, currency: [1], accountCode: {} })] }),
    ],
    [
      'has members that are columns',
      statement({ movements: [movement({ feeAmountMinorUnits: { a: 1 }, balance: null })] }),
    ],
    ['has an unknown direction', statement({ movements: [movement({ direction: 'sideways' })] })],
    ['has a code of many letters', statement({}, { code: `"\r\nSet-Cookie: a=b;${'ü'.repeat(20_000)}` })],
    ['has days that are none', statement({ from: '"\r\nX: y', to: '../../etc/passwd' })],
    [
      'has a formula in every text',
      statement({ movements: [movement({ description: '=cmd()', type: '@x', valueDate: '+1', createdAt: '-1' })] }),
    ],
  ])('converts to CSV or rejects a statement that %s', async (_, value) => {
    attacked.upstream.behaviour = json(value);
    for (const accept of ['text/csv', 'application/json']) {
      const { status, headers, text } = await attacked.sendRequest(STATEMENT, { headers: { accept } });

      expect([200, 502]).toContain(status);
      expect(headers.has('set-cookie')).toBe(false);
      expect((headers.get('content-disposition') ?? '').length).toBeLessThan(1_000);
      if (status === 200 && accept === 'text/csv') expect(text).not.toMatch(/(^|,)[=@+](?!\d)/m);
    }
  });

  const NEXT = `<https://evil.example/steal?cursor=a%3E%3B%20rel%3Dx%0d%0aX:y>; rel="next"`;

  it('links to the next page of a statement with the unchanged cursor', async () => {
    attacked.upstream.behaviour = json(statement({ next: 'theirs' }), 200, { link: NEXT });

    const response = await attacked.sendRequest(`${STATEMENT}&limit=1`);

    expect([response.status, response.headers.has('x')]).toEqual([200, false]);
    expect(response.text).not.toContain('theirs');
    const [, target = ''] = /^<([^<>]*)>; rel="next"$/.exec(nextOf(response) ?? '') ?? [];
    expect(target).toMatch(/^\/accounts\/1\/statement\?/);
    expect(new URL(target, 'http://us').searchParams.get('cursor')).toBe('a>; rel=x\r\nX:y');
  });

  it('ends a table whose next page is the same page again', async () => {
    attacked.upstream.behaviour = json(statement(), 200, { link: NEXT });

    await expect(attacked.sendRequest(STATEMENT, { headers: { accept: 'text/csv' } })).rejects.toThrow();
  });

  it('rejects a statement with a next link without a cursor', async () => {
    attacked.upstream.behaviour = json(statement(), 200, { link: '</accounts/1/statement?page=2>; rel="next"' });

    expect(await attacked.sendRequest(STATEMENT)).toMatchObject({ status: 502, body: { reason: 'upstream_error' } });
  });
});
