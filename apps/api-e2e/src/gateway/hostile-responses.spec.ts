import { gzipSync } from 'node:zlib';
import { CANARY } from '../log-lines.js';
import { AttackedGateway, type Behaviour, body, json, reset, wire } from './attacked-gateway.js';
import { faultsIn } from '../contract/shapes.js';
import { withoutEmptyEdges } from './stacked-services.js';

/** Valid responses with unknown content: forwarded unchanged as JSON. */
const UNUSUAL_RESPONSES: readonly (readonly [what: string, text: string])[] = [
  ['unknown fields', '{"id":1,"amount":"1","colour":"blue","edges":{"lender":{"id":9,"amount":1.5}},"list":[null]}'],
  [
    'unknown values',
    '{"id":1,"amount":"1","direction":"sideways","type":"gift","purpose":"XX999","edges":{"transaction":{"id":1,"status":"maybe"}}}',
  ],
  ['times in another form', '{"id":1,"amount":"1","createdAt":"yesterday"}'],
  [
    'a fee and limits in whole units',
    '{"id":1,"amount":"1","feeAmount":"12.50","edges":{"account":{"id":1,"name":"A","status":"open","type":"X","edges":{"balances":[],"currency":{"id":1,"code":"X","name":"X","decimals":18,"swiftMinimumWithdrawalAmount":"50.00 USD"},"product":{"id":1,"name":"P","edges":{"currency":{"id":0,"code":"","name":""}}}}}}}',
  ],
  [
    'the largest id',
    '{"id":1,"amount":"1","edges":{"recipient":{"id":9007199254740991,"name":"R","accountCode":"1"}}}',
  ],
  [
    'fields of ours with other types',
    '{"id":1,"amount":"1","edges":{"transaction":{"id":1,"status":"x","orderID":"o-1","edges":{"transfers":[{"id":"t","amount":5}],"internationalRemittance":{"id":1,"edges":{"events":[{"id":1,"status":"x","reasonCode":5}]}}}}}}',
  ],
  ['the required fields and no others', '{"id":1,"amount":"1"}'],
  [
    'members of all objects',
    '{"id":1,"amount":"1","__proto__":{"id":2},"constructor":{"prototype":{"id":3}},"toString":"x"}',
  ],
  ['a member twice, the last counts', '{"id":2,"amount":"2","id":1,"amount":"1"}'],
  ['a balance of minus nothing', '{"id":1,"amount":"1","edges":{"balance":{"id":1,"amount":-0}}}'],
  ['an integer written as a decimal', '{"id":1.0,"amount":"1"}'],
  ['wide digits inside a text', '{"id":1,"amount":"1","description":"9007199254740993"}'],
  ['text in every script', '{"id":1,"amount":"1","description":"\\u0000 \\ud83d\\udca3 عربى <script>"}'],
  [
    'no field we know but those it must have, 10,000 others',
    `{"id":1,"amount":"1",${Array.from({ length: 10_000 }, (_, at) => `"f${at}":${at}`).join()}}`,
  ],
];

/** An invalid response to `GET /transfers/1`, the response of the gateway, and its log line, which never contains a value. */
interface HostileResponse {
  readonly what: string;
  readonly behaviour: Behaviour;
  readonly status: 502 | 503 | 504;
  /** A pattern of the log line. */
  readonly why: RegExp;
}

const JSON_TYPE = { 'content-type': 'application/json' };
/** A transfer with the required fields and more. */
const transfer = (more: object = {}) => ({ id: 1, amount: '1', edges: {}, ...more });
/** A transfer as text, with a number that JavaScript would write differently. */
const withBalance = (amount: string) =>
  `{"id":1,"amount":"1","description":"${CANARY}","edges":{"balance":{"id":1,"amount":${amount}}}}`;
const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n';
const drip: Behaviour = wire(`${HEAD}Content-Length: 100\r\n\r\n`, (socket) => {
  const timer = setInterval(() => socket.writable && socket.write(' '), 100);
  socket.once('close', () => clearInterval(timer));
});
const flood: Behaviour = wire('', (socket) => {
  const more = (): void => {
    while (!socket.destroyed)
      if (!socket.write('HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n')) return void socket.once('drain', more);
  };
  more();
});
/** A body without an end, sent as fast as it is read. */
const endless: Behaviour = wire(`${HEAD}Transfer-Encoding: chunked\r\n\r\n`, (socket) => {
  const chunk = `10000\r\n${' '.repeat(65_536)}\r\n`;
  const more = (): void => {
    while (!socket.destroyed) if (!socket.write(chunk)) return void socket.once('drain', more);
  };
  more();
});

const broken = (what: string, behaviour: Behaviour): HostileResponse => ({
  what,
  behaviour,
  status: 502,
  why: /had no complete response/,
});
const late = (what: string, behaviour: Behaviour): HostileResponse => ({
  what,
  behaviour,
  status: 504,
  why: /within \d+ ms/,
});
const distrusted = (what: string, behaviour: Behaviour, why: RegExp): HostileResponse => ({
  what,
  behaviour,
  status: 502,
  why,
});
const wrong = (what: string, value: unknown, why: RegExp) => distrusted(what, json(value), why);

/** Responses that are incomplete or no HTTP. */
const BROKEN_RESPONSES: readonly HostileResponse[] = [
  late('hangs', () => undefined),
  late('sends single bytes slowly', drip),
  late(
    'sends its headers and no body',
    wire(`${HEAD}Content-Length: 2\r\n\r\n`, () => undefined),
  ),
  late('sends 103 without an end', flood),
  broken('breaks the connection before a response', wire('', reset)),
  broken('closes the connection before a response', wire('')),
  broken('breaks the connection in its headers', wire(HEAD, reset)),
  broken('breaks the connection in its body', wire(`${HEAD}Content-Length: 100\r\n\r\n{"id":1`, reset)),
  broken('closes the connection within the body', wire(`${HEAD}Content-Length: 100\r\n\r\n{"id":1`)),
  broken('breaks off its chunks', wire(`${HEAD}Transfer-Encoding: chunked\r\n\r\n5\r\n{"id"\r\n`)),
  broken('sends a chunk without a size', wire(`${HEAD}Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n`)),
  broken('sends two lengths', wire(`${HEAD}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`)),
  broken('sends a length and chunks', wire(`${HEAD}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`)),
  broken('uses another protocol', wire('SSH-2.0-OpenSSH_9.6\r\n')),
  broken('sends an invalid status', wire('HTTP/1.1 20 OK\r\n\r\n')),
  broken('sends headers of a mebibyte', wire(`${HEAD}X-Long: ${'a'.repeat(1024 * 1024)}\r\n\r\n`)),
  broken(
    'splits its response',
    wire(`HTTP/1.1 200 OK\r\nX-A: b\rSet-Cookie: ${CANARY}=1\r\nContent-Length: 0\r\n\r\n`),
  ),
];

/** Responses that the gateway stops reading, because of their length or their duration. */
const TOO_LONG: readonly (readonly [what: string, behaviour: Behaviour])[] = [
  ['64 MiB long', body(' '.repeat(64 * 1024 * 1024), JSON_TYPE)],
  ['without an end', endless],
];

/** Valid HTTP responses that the interface does not have. */
const FOREIGN_RESPONSES: readonly HostileResponse[] = [
  distrusted('sends HTML', body(`<html>${CANARY}</html>`, { 'content-type': 'text/html' }), /Content-Type is not JSON/),
  distrusted('sends nothing', body('', JSON_TYPE), /not valid JSON/),
  distrusted('says 204', (response) => response.writeHead(204).end(), /204/),
  distrusted('says 202', json(transfer(), 202), /202/),
  distrusted('says 206', json(transfer(), 206), /206/),
  distrusted(
    'calls it a text',
    body(JSON.stringify(transfer()), { 'content-type': 'text/plain' }),
    /Content-Type is not JSON/,
  ),
  distrusted('sends no Content-Type', body(JSON.stringify(transfer()), {}), /Content-Type is not JSON/),
  distrusted(
    'sends an unrequested compressed body',
    body(gzipSync(JSON.stringify(transfer())), { ...JSON_TYPE, 'content-encoding': 'gzip' }),
    /not UTF-8/,
  ),
  distrusted('sends bytes that are no UTF-8', body(Buffer.from([0x22, 0xff, 0xfe, 0x22]), JSON_TYPE), /not UTF-8/),
  distrusted('sends half an object', body(`{"id":1,"description":"${CANARY}`, JSON_TYPE), /not valid JSON/),
  distrusted('sends an object twice', body('{"id":1}{"id":1}', JSON_TYPE), /not valid JSON/),
  distrusted(
    'says a length that is too short',
    wire(`${HEAD}Content-Length: 2\r\n\r\n{"id":1,"amount":"1","edges":{}}`),
    /not valid JSON/,
  ),
  distrusted(
    'nests 100,000 deep',
    body(`{"id":1,"amount":"1","x":${'['.repeat(100_000)}${']'.repeat(100_000)}}`, JSON_TYPE),
    /JSON|deep|stack/,
  ),
  wrong('sends a list', [transfer()], /not a JSON object/),
  wrong('sends a text', CANARY, /not a JSON object/),
  wrong('sends null', null, /not a JSON object/),
  wrong('sends another transfer', transfer({ id: 2, description: CANARY }), /another id/),
  wrong('writes the id as a text', transfer({ id: '1' }), /another id/),
  wrong('leaves out the id', { amount: '1' }, /another id/),
  distrusted('names a next id', body(`{"id":1.0000000000000000001e0,"amount":1}`, JSON_TYPE), /amount/),
];

/** Records with a wrong field. The log names the field. validate-response.spec.ts has each field of each record. */
const WRONG_FIELDS: readonly HostileResponse[] = [
  distrusted('counts a balance beyond 2^53', body(withBalance('9007199254740993'), JSON_TYPE), /2\^53/),
  wrong(
    'writes a description as an object',
    transfer({ description: { [CANARY]: 1 } }),
    /\/description must be string/,
  ),
  wrong(
    'hides a member of all objects',
    JSON.parse('{"id":1,"__proto__":{"amount":"1"}}'),
    /must have required property 'amount'/,
  ),
];

const PUBLISHED = {
  502: { errorCode: 'upstream_error', reason: 'upstream_error' },
  503: { errorCode: 'unavailable', reason: 'unavailable' },
  504: { errorCode: 'upstream_timeout', reason: 'upstream_timeout' },
} as const;

let attacked: AttackedGateway;
beforeAll(async () => {
  attacked = await AttackedGateway.start();
});
afterAll(() => attacked?.stop());

describe('gateway with invalid upstream responses', () => {
  beforeEach(() => {
    attacked.upstream.received.length = 0;
  });
  /** The gateway still responds, and the next test does not count the failures of this one. */
  afterEach(async () => {
    attacked.upstream.behaviour = json([]);
    expect(await attacked.sendRequest('/accounts')).toMatchObject({ status: 200, body: [] });
    expect(attacked.wrongLines()).toEqual([]);
  });

  it.each<HostileResponse>([...BROKEN_RESPONSES, ...FOREIGN_RESPONSES, ...WRONG_FIELDS])(
    'reports an upstream that $what without its values, and logs why',
    async ({ behaviour, status, why }) => {
      attacked.upstream.behaviour = behaviour;

      const response = await attacked.requestAndReadLog('/transfers/1');

      expect(response).toMatchObject({ status, body: PUBLISHED[status] });
      expect(faultsIn(response.body, 'ErrorBody')).toEqual([]);
      expect([...response.headers.keys()]).not.toContain('set-cookie');
      expect(response.text + response.lines.join()).not.toContain(CANARY);
      expect(response.lines).toEqual([
        expect.stringMatching(/^\{"level":"warn"/),
        expect.stringMatching(/"msg":"request"/),
      ]);
      expect((JSON.parse(response.lines[0] ?? '') as { why?: string }).why).toMatch(why);
      expect(attacked.upstream.received).toHaveLength(1);
    },
  );

  it.each(TOO_LONG)('stops reading a response that is %s', async (_, behaviour) => {
    attacked.upstream.behaviour = behaviour;

    expect([502, 504]).toContain((await attacked.sendRequest('/transfers/1')).status);
  });

  it.each(UNUSUAL_RESPONSES)('forwards a transfer with %s unchanged', async (_, text) => {
    attacked.upstream.behaviour = body(text, { 'content-type': 'application/json; charset=utf-8' });

    const { status, text: passed } = await attacked.sendRequest('/transfers/1');

    expect([status, withoutEmptyEdges(passed)]).toEqual([200, withoutEmptyEdges(text)]);
  });

  it('forwards only the headers of the interface', async () => {
    const plain = await attacked.sendRequest('/accounts');
    attacked.upstream.behaviour = json([], 200, {
      'set-cookie': `a=${CANARY}`,
      server: CANARY,
      'x-powered-by': CANARY,
      'x-request-id': CANARY,
      'access-control-allow-origin': '*',
      'www-authenticate': 'Basic',
      'cache-control': 'public, max-age=3600',
      'content-security-policy': 'default-src *',
      'idempotent-replayed': 'true',
      location: 'https://evil.example',
      etag: '"theirs"',
      connection: 'close, x-hop',
      'x-hop': CANARY,
      trailer: 'x-late',
      upgrade: 'h2c',
      link: '<https://evil.example/x>; rel="preload"',
    });

    const { headers, text } = await attacked.sendRequest('/accounts');

    const comparableHeaders = (all: Headers) => [...all].filter(([name]) => !['date', 'x-request-id'].includes(name));
    expect(comparableHeaders(headers)).toEqual(comparableHeaders(plain.headers));
    expect([...headers.values(), text].join()).not.toContain(CANARY);
  });
});

const CREATED = 'HTTP/1.1 201 Created\r\nContent-Type: application/json\r\n';
const ORDER = { id: 7, amount: '10', status: 'active', type: 'instant', edges: {} };
const PATH = '/accounts/1/orders';
const INPUT = { amount: '10', recipientID: 3, type: 'instant' };

/** Failures after which the outcome of the order is unknown. */
const IN_DOUBT: readonly (readonly [what: string, behaviour: Behaviour, status: 502 | 504])[] = [
  ['hangs', () => undefined, 504],
  ['hangs in its body', wire(`${CREATED}Content-Length: 9\r\n\r\n{`, () => undefined), 504],
  ['breaks the connection', wire('', reset), 502],
  ['breaks it in its body', wire(`${CREATED}Content-Length: 9\r\n\r\n{`, reset), 502],
  ['sends HTML', body('<html>', { 'content-type': 'text/html' }, 201), 502],
  ['sends half of it', body('{"id":7', JSON_TYPE, 201), 502],
  ['sends edges that are a list', json({ id: 7, edges: [] }, 201), 502],
  ['sends a list', json([ORDER], 201), 502],
  ['says 200 and nothing', body('', JSON_TYPE), 502],
  ['says 202', json(ORDER, 202), 502],
  ['says 204', (response) => response.writeHead(204).end(), 502],
  ['says 500', json({ errorCode: 'internal_error', message: 'No.', reason: 'internal_error' }, 500), 502],
  ['says 502', json({ errorCode: 'upstream_error', message: 'No.', reason: 'upstream_error' }, 502), 502],
  ['says 504', json({ errorCode: 'upstream_timeout', message: 'No.', reason: 'upstream_timeout' }, 504), 504],
  [
    'says that it does not know',
    json({ errorCode: 'unavailable', message: 'No.', reason: 'outcome_unknown' }, 504),
    504,
  ],
  ['says 503 and when', json({ errorCode: 'x', message: 'No.' }, 503, { 'retry-after': '2' }), 504],
  ['says 503', json({ errorCode: 'x', message: 'No.' }, 503), 502],
];

/** Refusals after which the order is known not to be placed. */
const REFUSED: readonly (readonly [what: string, behaviour: Behaviour, status: number])[] = [
  ['422', json({ errorCode: 'unprocessable', message: 'No.', reason: 'insufficient_funds' }, 422), 422],
  [
    '409',
    json({ errorCode: 'conflict', message: 'No.', reason: 'idempotency_in_progress' }, 409, { 'retry-after': '1' }),
    409,
  ],
  ['404', json({ errorCode: 'x', message: 'No.' }, 404), 404],
  ['503 and a reason', json({ errorCode: 'unavailable', message: 'No.', reason: 'unavailable' }, 503), 503],
  ['401', json({ errorCode: 'x', message: 'No.' }, 401), 503],
  // The last one: other changes in the workspace wait for a second after it.
  ['429', json({ errorCode: 'x', message: 'No.' }, 429), 429],
];

describe('gateway that sends an order with an unknown outcome', () => {
  beforeEach(() => {
    attacked.upstream.received.length = 0;
  });
  afterEach(async () => {
    attacked.upstream.behaviour = json([]);
    expect(await attacked.sendRequest('/accounts')).toMatchObject({ status: 200, body: [] });
    expect(attacked.wrongLines()).toEqual([]);
  });

  const keysSeen = () => attacked.upstream.received.map(({ headers }) => headers['idempotency-key']);

  it.each(IN_DOUBT)(
    'sends the order once with the key of the caller, and returns the key, if the upstream %s',
    async (_, behaviour, status) => {
      attacked.upstream.behaviour = behaviour;

      const response = await attacked.requestAndReadLog(PATH, { body: INPUT, headers: { 'idempotency-key': 'mine' } });

      expect(response.status).toBe(status);
      expect(keysSeen()).toEqual(['mine']);
      expect(response.headers.get('idempotency-key')).toBe('mine');
      expect(response.lines[0]).toMatch(/^\{"level":"warn"/);
    },
  );

  it.each(IN_DOUBT.filter(([what]) => ['breaks it in its body', 'says 204', 'says 503 and when'].includes(what)))(
    'returns a generated key to retry with if the upstream %s and the caller sent none',
    async (_, behaviour, status) => {
      attacked.upstream.behaviour = behaviour;

      const response = await attacked.sendRequest(PATH, { body: INPUT });
      const key = response.headers.get('idempotency-key') ?? '';
      attacked.upstream.behaviour = json(ORDER, 201, { 'idempotent-replayed': 'true' });
      const again = await attacked.sendRequest(PATH, { body: INPUT, headers: { 'idempotency-key': key } });

      expect(response.status).toBe(status);
      expect(key).toMatch(/^[\x21-\x7e]{16,255}$/);
      expect(keysSeen()).toEqual([key, key]);
      expect(attacked.upstream.received[0]?.body).toBe(attacked.upstream.received[1]?.body);
      expect(again).toMatchObject({ status: 200, body: ORDER });
      expect([
        again.headers.get('location'),
        again.headers.get('idempotent-replayed'),
        again.headers.get('idempotency-key'),
      ]).toEqual([`${PATH}/7`, 'true', null]);
    },
  );

  it('generates a different key for each request', async () => {
    attacked.upstream.behaviour = json(ORDER, 201);

    await Promise.all([attacked.sendRequest(PATH, { body: INPUT }), attacked.sendRequest(PATH, { body: INPUT })]);

    expect(new Set(keysSeen()).size).toBe(2);
  });

  it.each([
    ['a change of an account', 'PATCH', '/accounts/1', { alias: 'x' }],
    ['a deletion of a recipient', 'DELETE', '/recipients/1', undefined],
    ['a cancellation', 'POST', '/accounts/1/orders/1/cancellation', undefined],
    ['a resumption', 'POST', '/accounts/1/orders/1/resumption', undefined],
  ])('sends %s once and returns no key if the connection breaks', async (_, method, path, body) => {
    attacked.upstream.behaviour = wire('', reset);

    const response = await attacked.sendRequest(path, { method, ...(body && { body }) });

    expect(response).toMatchObject({ status: 502, body: { reason: 'upstream_error' } });
    expect(response.headers.has('idempotency-key')).toBe(false);
    expect(attacked.upstream.received.map((request) => [request.method, request.path])).toEqual([[method, path]]);
  });

  it.each(REFUSED)('returns no key for the refusal %s', async (_, behaviour, status) => {
    attacked.upstream.behaviour = behaviour;

    const response = await attacked.sendRequest(PATH, { body: INPUT });

    expect(response.status).toBe(status);
    expect(response.headers.has('idempotency-key')).toBe(false);
    expect(attacked.upstream.received).toHaveLength(1);
  });
});
