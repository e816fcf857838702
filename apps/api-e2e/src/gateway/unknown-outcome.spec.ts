import { BesiegedGateway } from './besieged-gateway.js';
import { body, json, reset, type Trick, wire } from './hostile-upstream.js';

const HEAD = 'HTTP/1.1 201 Created\r\nContent-Type: application/json\r\n';
const JSON_TYPE = { 'content-type': 'application/json' };
const ORDER = { id: 7, amount: '10', status: 'active', type: 'instant', edges: {} };
const PATH = '/accounts/1/orders';
const WISH = { amount: '10', recipientID: 3, type: 'instant' };

/** Whether the order was placed is not known after any of these. */
const IN_DOUBT: readonly (readonly [what: string, trick: Trick, status: 502 | 504])[] = [
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
  ['says that it does not know', json({ errorCode: 'unavailable', message: 'No.', reason: 'outcome_unknown' }, 504), 504],
  ['says 503 and when', json({ errorCode: 'x', message: 'No.' }, 503, { 'retry-after': '2' }), 504],
  ['says 503', json({ errorCode: 'x', message: 'No.' }, 503), 502],
]; // prettier-ignore

/** After these it is known that it was not. */
const REFUSED: readonly (readonly [what: string, trick: Trick, status: number])[] = [
  ['422', json({ errorCode: 'unprocessable', message: 'No.', reason: 'insufficient_funds' }, 422), 422],
  ['409', json({ errorCode: 'conflict', message: 'No.', reason: 'idempotency_in_progress' }, 409, { 'retry-after': '1' }), 409],
  ['404', json({ errorCode: 'x', message: 'No.' }, 404), 404],
  ['503 and a reason', json({ errorCode: 'unavailable', message: 'No.', reason: 'unavailable' }, 503), 503],
  ['401', json({ errorCode: 'x', message: 'No.' }, 401), 503],
  // The last one: other changes in the workspace wait for a second after it.
  ['429', json({ errorCode: 'x', message: 'No.' }, 429), 429],
]; // prettier-ignore

describe('Given a gateway whose upstream is sent an order', () => {
  let besieged: BesiegedGateway;
  beforeAll(async () => {
    besieged = await BesiegedGateway.start();
  }, 60_000);
  afterAll(() => besieged?.stop());
  beforeEach(() => {
    besieged.upstream.asked.length = 0;
  });
  afterEach(async () => {
    besieged.upstream.trick = json([]);
    expect(await besieged.ask('/accounts')).toMatchObject({ status: 200, body: [] });
    expect(besieged.wrongLines()).toEqual([]);
  });

  const keysSeen = () => besieged.upstream.asked.map(({ headers }) => headers['idempotency-key']);

  it.each(IN_DOUBT)(
    'When it %s Then it was asked once, with the key of the caller, who is told it again',
    async (_, trick, status) => {
      besieged.upstream.trick = trick;

      const answer = await besieged.askAndRead(PATH, { body: WISH, headers: { 'idempotency-key': 'mine' } });

      expect(answer.status).toBe(status);
      expect(keysSeen()).toEqual(['mine']);
      expect(answer.headers.get('idempotency-key')).toBe('mine');
      expect(answer.lines[0]).toMatch(/^\{"level":"warn"/);
    },
  );

  it.each(IN_DOUBT)(
    'When it %s and the caller sent no key Then it is told one, with which the order can be sent again',
    async (_, trick, status) => {
      besieged.upstream.trick = trick;

      const answer = await besieged.ask(PATH, { body: WISH });
      const key = answer.headers.get('idempotency-key') ?? '';
      besieged.upstream.trick = json(ORDER, 201, { 'idempotent-replayed': 'true' });
      const again = await besieged.ask(PATH, { body: WISH, headers: { 'idempotency-key': key } });

      expect(answer.status).toBe(status);
      expect(key).toMatch(/^[\x21-\x7e]{16,255}$/);
      expect(keysSeen()).toEqual([key, key]);
      expect(besieged.upstream.asked[0]?.body).toBe(besieged.upstream.asked[1]?.body);
      expect(again).toMatchObject({ status: 200, body: ORDER });
      expect([again.headers.get('location'), again.headers.get('idempotent-replayed'), again.headers.get('idempotency-key')]).toEqual([`${PATH}/7`, 'true', null]); // prettier-ignore
    },
  );

  it('When two callers send no key Then each has a key of its own', async () => {
    besieged.upstream.trick = json(ORDER, 201);

    await Promise.all([besieged.ask(PATH, { body: WISH }), besieged.ask(PATH, { body: WISH })]);

    expect(new Set(keysSeen()).size).toBe(2);
  });

  it.each([
    ['a change of an account', 'PATCH', '/accounts/1', { alias: 'x' }],
    ['forgetting a recipient', 'DELETE', '/recipients/1', undefined],
    ['a cancellation', 'POST', '/accounts/1/orders/1/cancellation', undefined],
    ['a resumption', 'POST', '/accounts/1/orders/1/resumption', undefined],
  ])('When %s is broken off Then it was asked once, and there is no key to be told', async (_, method, path, wish) => {
    besieged.upstream.trick = wire('', reset);

    const answer = await besieged.ask(path, { method, ...(wish && { body: wish }) });

    expect(answer).toMatchObject({ status: 502, body: { reason: 'upstream_error' } });
    expect(answer.headers.has('idempotency-key')).toBe(false);
    expect(besieged.upstream.asked.map((asked) => [asked.method, asked.path])).toEqual([[method, path]]);
  });

  it.each(REFUSED)('When it refuses with %s Then nothing is in doubt, and no key is told', async (_, trick, status) => {
    besieged.upstream.trick = trick;

    const answer = await besieged.ask(PATH, { body: WISH });

    expect(answer.status).toBe(status);
    expect(answer.headers.has('idempotency-key')).toBe(false);
    expect(besieged.upstream.asked).toHaveLength(1);
  });
});
