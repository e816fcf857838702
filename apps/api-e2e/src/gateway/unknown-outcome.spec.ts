import { AttackedGateway } from './gateway-under-attack.js';
import { body, json, reset, type Behaviour, wire } from './hostile-upstream.js';

const HEAD = 'HTTP/1.1 201 Created\r\nContent-Type: application/json\r\n';
const JSON_TYPE = { 'content-type': 'application/json' };
const ORDER = { id: 7, amount: '10', status: 'active', type: 'instant', edges: {} };
const PATH = '/accounts/1/orders';
const INPUT = { amount: '10', recipientID: 3, type: 'instant' };

/** Failures after which the outcome of the order is unknown. */
const IN_DOUBT: readonly (readonly [what: string, behaviour: Behaviour, status: 502 | 504])[] = [
  ['hangs', () => undefined, 504],
  ['hangs in its body', wire(`${HEAD}Content-Length: 9\r\n\r\n{`, () => undefined), 504],
  ['breaks the connection', wire('', reset), 502],
  ['breaks it in its body', wire(`${HEAD}Content-Length: 9\r\n\r\n{`, reset), 502],
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
  let attacked: AttackedGateway;
  beforeAll(async () => {
    attacked = await AttackedGateway.start();
  });
  afterAll(() => attacked?.stop());
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

  it.each(IN_DOUBT)(
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
