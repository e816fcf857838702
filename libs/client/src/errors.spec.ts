import { once } from 'node:events';
import { type Server, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import * as fc from 'fast-check';
import { REFUSALS, Refusal, type RefusalReason } from '@banking/domain';
import { BankingClient, ConnectionError, RemoteRefusal, ServiceError } from './index.js';

const TOKEN = 'eyJhbGciOiJFUzI1NiJ9.e30.c2lnbmF0dXJl';
const JSON_TYPE = { 'Content-Type': 'application/json; charset=utf-8' };

let server: Server;
let baseUrl: string;
let paths: (string | undefined)[];
let answer: (response: ServerResponse) => void;

beforeEach(async () => {
  paths = [];
  server = createServer((request, response) => {
    paths.push(request.url);
    answer(response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterEach(async () => {
  if (!server.listening) return;
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

/** The error of a read of transfer 42. */
async function failure<E = ServiceError>(timeoutMs = 10_000): Promise<E> {
  const client = new BankingClient({ baseUrl, token: TOKEN, timeoutMs, retries: 0 });
  return client
    .workspace(7)
    .transfers.get(42)
    .then(
      (transfer) => Promise.reject(new Error(`not refused: ${JSON.stringify(transfer)}`)),
      (error: unknown) => error as E,
    );
}

const answering = (status: number, body: unknown, headers: Record<string, string> = {}) => {
  const bytes = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
  answer = (response) => response.writeHead(status, { ...JSON_TYPE, ...headers }).end(bytes);
};

describe('refusal of the service', () => {
  it.each(Object.keys(REFUSALS) as RefusalReason[])('is a RemoteRefusal for the reason %s', async (reason) => {
    const { status, errorCode } = new Refusal(reason);
    const details = [{ path: '/amount', reason: 'amount_malformed', message: 'Write digits.' }];
    const body = { errorCode, message: 'In words of its own.', reason, requestId: 'r-1', details };
    answering(status, body, { 'Retry-After': '3' });

    const error = await failure<RemoteRefusal>();

    expect(error).toBeInstanceOf(RemoteRefusal);
    expect(error).toBeInstanceOf(Refusal);
    expect(error).toMatchObject({ ...body, status, retryAfterSeconds: 3 });
  });

  it('takes missing fields from the headers and the table', async () => {
    answering(503, { reason: 'unavailable', details: ['?'] }, { 'X-Request-Id': 'r-2', 'Retry-After': 'soon' });

    const error = await failure<RemoteRefusal>();

    expect(error).toMatchObject({ message: REFUSALS.unavailable.message, requestId: 'r-2' });
    expect(error).not.toHaveProperty('details');
    expect(error).not.toHaveProperty('retryAfterSeconds');
  });

  it.each([
    [new Date(Date.now() + 3_600_000).toUTCString(), 3_590, 3_600],
    ['Wed, 21 Oct 2015 07:28:00 GMT', 0, 0],
  ])('reads Retry-After %s as seconds from now', async (retryAfter, from, to) => {
    answering(429, { reason: 'rate_limited' }, { 'Retry-After': retryAfter });

    const { retryAfterSeconds } = await failure<RemoteRefusal>();

    expect(retryAfterSeconds).toBeGreaterThanOrEqual(from);
    expect(retryAfterSeconds).toBeLessThanOrEqual(to);
  });
});

describe('unexpected error response', () => {
  it('keeps all fields of an unknown reason', async () => {
    const body = {
      errorCode: 'gone',
      message: 'It is archived.',
      reason: 'transfer_archived',
      requestId: 'r-3',
      since: 1,
    };
    answering(410, body, { 'Retry-After': '9' });

    const error = await failure();

    expect(error).toBeInstanceOf(ServiceError);
    expect(error).not.toBeInstanceOf(Refusal);
    const { since: _, ...fields } = body;
    expect(error).toMatchObject({ ...fields, name: 'ServiceError', status: 410, retryAfterSeconds: 9 });
    expect(error.body).toEqual(body);
  });

  it('keeps a known reason with another status', async () => {
    answering(410, { errorCode: 'invalid_request', message: 'No.', reason: 'transfer_not_found' });

    const error = await failure();

    expect(error).toBeInstanceOf(ServiceError);
    expect(error).toMatchObject({ status: 410, reason: 'transfer_not_found' });
  });

  it('has no reason if the body has the two published fields only', async () => {
    answering(401, { errorCode: 'invalid_request', message: 'The request parameters are invalid.' });

    expect(await failure()).toMatchObject({ status: 401, errorCode: 'invalid_request', reason: undefined });
  });

  it.each([
    [502, '<h1>Bad gateway</h1>', 'GET /transfers/42 answered 502.'],
    [500, 'null', 'GET /transfers/42 answered 500.'],
    [400, '{"reason":["workspace_id_required"],"message":7}', 'GET /transfers/42 answered 400.'],
    [404, '{"reason":"__proto__"}', 'GET /transfers/42 answered 404.'],
    [202, '{"id":42}', 'GET /transfers/42 answered 202.'],
  ])('names the status %i with %s', async (status, body, message) => {
    answering(status, body);

    const error = await failure();

    expect(error).toBeInstanceOf(ServiceError);
    expect(error).toMatchObject({ status, message });
  });

  it('keeps the body as text if it has a number beyond 2^53 - 1', async () => {
    const body = '{"reason":"new","balance":9007199254740993}';
    answering(422, body);

    expect((await failure()).body).toBe(body);
  });

  it('does not follow a redirect', async () => {
    answering(307, '', { Location: '/elsewhere' });

    const error = await failure();

    expect(error).toMatchObject({ status: 307, message: expect.stringContaining('redirect') });
    expect(paths).toEqual(['/transfers/42']);
  });
});

describe('invalid success', () => {
  it.each([
    ['broken JSON', '{"id":42', {}, 'not valid JSON'],
    ['an empty body', '', {}, 'not valid JSON'],
    ['another content type', '{"id":42}', { 'Content-Type': 'text/html' }, 'Content-Type is not JSON'],
    ['an integer beyond 2^53 - 1', '{"id":9007199254740993}', {}, 'beyond 2^53 - 1'],
    ['an array instead of a record', '[]', {}, 'not a JSON object'],
    ['null instead of a record', 'null', {}, 'not a JSON object'],
    ['bytes that are not UTF-8', Buffer.from('7b226e223a22ff227d', 'hex'), {}, 'not UTF-8'],
  ])('is an error if it is %s', async (_, body, headers, message) => {
    answering(200, body, { 'X-Request-Id': 'r-4', ...headers });

    const error = await failure();

    expect(error).toBeInstanceOf(ServiceError);
    expect(error).toMatchObject({ status: 200, requestId: 'r-4', message: expect.stringContaining(message) });
    expect(error.body).toBe(body.toString());
  });

  it('is an error if a record arrives instead of a list', async () => {
    answering(200, '{}');

    await expect(new BankingClient({ baseUrl, token: TOKEN }).apps.list()).rejects.toThrow('not a JSON array');
  });

  it('does not log the body', async () => {
    answering(200, '{"beneficiaryName":"Ada Lovelace"');

    const error = await failure();

    expect(error.body).toContain('Ada Lovelace');
    expect(inspect(error, { depth: null }) + JSON.stringify(error)).not.toContain('Ada Lovelace');
  });
});

describe('any response', () => {
  const reasons = fc.constantFrom('transfer_not_found', 'unavailable', 'rate_limited', 'outcome_unknown', TOKEN);
  const texts = fc.oneof(reasons, fc.string(), fc.jsonValue({ maxDepth: 1 }));
  const bodies = fc.oneof(
    fc.record(
      { id: fc.constantFrom(42, 42, '42', 2 ** 53), amount: texts, edges: fc.jsonValue() },
      { requiredKeys: ['id'] },
    ),
    fc.record(
      {
        errorCode: texts,
        message: texts,
        reason: reasons,
        requestId: texts,
        details: fc.array(fc.record({ path: texts, reason: texts, message: texts })),
      },
      { requiredKeys: ['reason'] },
    ),
    fc.jsonValue(),
  );
  const headers = fc.dictionary(
    fc.constantFrom('content-type', 'link', 'retry-after', 'x-request-id', 'idempotent-replayed'),
    fc.oneof(
      fc.constantFrom(
        'application/problem+json',
        'text/html',
        '<x?cursor=%ff>;rel=next',
        '</t1=b>; rel=next, ":{}',
        'Wed, 2T',
        TOKEN,
      ),
      fc.string(),
    ),
    { maxKeys: 2 },
  );

  it('is a valid record, or one of the documented errors without the token', async () => {
    const seen = new Set<string>();
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(200, 200, 200, 201, 201, 204, 199, 300, 400, 401, 404, 429, 500, 503, 504),
        headers,
        fc.oneof({ weight: 4, arbitrary: bodies.map((body) => JSON.stringify(body)) }, fc.string()),
        async (status, more, body) => {
          const sent: Readonly<Record<string, string>> = { 'content-type': 'application/json; charset=utf-8', ...more };
          const response = {
            status,
            headers: { get: (name: string) => sent[name.toLowerCase()] ?? null },
            arrayBuffer: async () => new Uint8Array(Buffer.from(body)).buffer,
          };
          const client = new BankingClient({ baseUrl, token: TOKEN, retries: 0, fetch: async () => response });

          const value = await client
            .workspace(7)
            .transfers.get(42)
            .catch((error: unknown) => error);

          seen.add((value as object).constructor.name);
          if (value instanceof RemoteRefusal || value instanceof ServiceError) {
            expect(inspect(value, { depth: null, showHidden: true }) + value.stack).not.toContain(TOKEN);
            expect(JSON.stringify([value, value instanceof ServiceError && value.body])).not.toContain(TOKEN);
          } else {
            expect([200, 201]).toContain(status);
            expect(value).toMatchObject({ id: 42, edges: expect.anything() as unknown });
          }
        },
      ),
      { numRuns: 1_000 },
    );
    expect([...seen].sort()).toEqual(['Object', 'RemoteRefusal', 'ServiceError']);
  });
});

describe('incomplete response', () => {
  it.each([
    ['never', () => undefined],
    ['with half a body', (response: ServerResponse) => void response.writeHead(200, JSON_TYPE).write('{"id":')],
  ])('ends at the timeout after %s', async (_, silence) => {
    answer = silence;

    const error = await failure<ConnectionError>(50);

    expect(error).toBeInstanceOf(ConnectionError);
    expect(error).toMatchObject({ timedOut: true, message: expect.stringContaining('within 50 ms') });
    expect(error.cause).toMatchObject({ name: 'TimeoutError' });
  });

  it('is a ConnectionError with its cause if the connection breaks', async () => {
    answer = (response) => {
      response.writeHead(200, { ...JSON_TYPE, 'Content-Length': '100' }).write('{"id":42}', () => response.destroy());
    };

    const error = await failure<ConnectionError>();

    expect(error).toBeInstanceOf(ConnectionError);
    expect(error).toMatchObject({ timedOut: false, cause: { name: 'TypeError' } });
  });

  it('names the error code of a refused connection', async () => {
    server.close();
    await once(server, 'close');

    const error = await failure<ConnectionError>();

    expect(error).toBeInstanceOf(ConnectionError);
    expect(error.message).toBe(`GET /transfers/42 had no complete response from ${baseUrl}: ECONNREFUSED.`);
  });
});

describe('response that echoes the token', () => {
  it.each([
    [
      404,
      {
        reason: 'transfer_not_found',
        message: `Bearer ${TOKEN}`,
        details: [{ path: TOKEN, reason: 'x', message: TOKEN }],
      },
    ],
    [418, { reason: 'teapot', message: `Bearer ${TOKEN}`, headers: { authorization: [TOKEN] } }],
    [418, { reason: TOKEN, message: 'No.', [TOKEN]: { [`Bearer ${TOKEN}`]: 1 } }],
    [422, { reason: 'recipient_invalid', message: 'No.', details: [{ path: 'a', reason: TOKEN, message: 'b' }] }],
    [502, `<pre>Authorization: Bearer ${TOKEN}</pre>`],
    [200, `Authorization: Bearer ${TOKEN}`],
  ])('has no token in the error of a %i', async (status, body) => {
    answering(status, body, { 'X-Request-Id': TOKEN });

    const error = await failure();

    expect(error).toBeInstanceOf(Error);
    expect(inspect(error, { depth: null, showHidden: true }) + error.stack).not.toContain(TOKEN);
  });
});
