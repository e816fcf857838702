import * as fc from 'fast-check';
import { RemoteBankingService } from '@banking/client';
import type { ErrorBody, WorkspaceId } from '@banking/domain';
import { MESSAGES, ORDER, PLACE, READ, refused, type Script, scriptedGateway } from './testing/gateway.js';
import { upstreamFailure } from './upstream-failure.js';

let world: Awaited<ReturnType<typeof scriptedGateway>>;

beforeAll(async () => {
  world = await scriptedGateway();
});
afterAll(() => world.close());
beforeEach(() => world.reset());

/** The time of a request is over: the spec ends it, so that a busy machine does not. */
const timeIsOver = () => void jest.advanceTimersByTime(10_000);
beforeEach(() => void jest.useFakeTimers({ doNotFake: ['nextTick', 'performance', 'queueMicrotask', 'setImmediate'] }));
afterEach(() => void jest.useRealTimers());

describe('a refusal of the upstream', () => {
  it('is passed on unchanged with the request id of the gateway', async () => {
    const details = [{ path: '/purposeCode', reason: 'purpose_code_invalid', message: 'Choose another.' }];
    const { status, body } = await world.responseTo(PLACE, refused(422, 'purpose_code_invalid', { details }), ORDER);

    expect(status).toBe(422);
    expect(body).toEqual({
      errorCode: 'unprocessable',
      message: 'No.',
      reason: 'purpose_code_invalid',
      requestId: 'ours',
      details,
    });
    expect(world.gateway.lines).toEqual([]);
  });

  it('is passed on with its Retry-After', async () => {
    const { status, retryAfter } = await world.responseTo(
      PLACE,
      { ...refused(409, 'idempotency_in_progress'), headers: { 'retry-after': '3' } },
      ORDER,
    );

    expect({ status, retryAfter }).toEqual({ status: 409, retryAfter: '3' });
  });

  it('is passed on with a Retry-After of at most an hour', async () => {
    const { retryAfter } = await world.responseTo(READ, {
      ...refused(503, 'unavailable'),
      headers: { 'retry-after': 'Fri, 31 Dec 9999 23:59:59 GMT' },
    });

    expect(retryAfter).toBe('3600');
  });

  it('is passed on with an unknown reason', async () => {
    const script = {
      status: 422,
      body: {
        errorCode: 'nope',
        message: 'Mondays only.',
        reason: 'weekday',
        details: [{ path: '/startAt', reason: 'x', message: 'y', secret: 1 }, 7],
      },
    };
    const { status, body } = await world.responseTo(PLACE, script, ORDER);

    expect(status).toBe(422);
    expect(body).toMatchObject({ errorCode: 'nope', message: 'Mondays only.', reason: 'weekday', requestId: 'ours' });
    expect(body['details']).toHaveLength(1);
  });

  it.each([
    [READ, 404, 'transfer_not_found'],
    ['GET /recipients/countries/XX/corridors', 404, 'country_unknown'],
    ['GET /accounts/7', 404, 'account_not_found'],
    ['GET /accounts/7/orders/8', 404, 'order_not_found'],
    ['GET /products', 404, 'invalid_request'],
    [READ, 400, 'invalid_request'],
  ])('gets for %s with status %i and without a reason the reason %s', async (call, status, reason) => {
    const response = { status, body: { errorCode: 'invalid_request', message: 'Request parameters are invalid.' } };

    expect(await world.responseTo(call, response)).toMatchObject({
      status,
      body: { errorCode: 'invalid_request', message: 'Request parameters are invalid.', reason, requestId: 'ours' },
    });
  });
});

describe('a failure between the gateway and the upstream', () => {
  it.each([
    [401, 'not_authenticated', 'does not accept our credential'],
    [403, 'role_insufficient', 'our credential may not do this'],
  ])('becomes with status %i a 503 and an error in the log', async (theirs, reason, why) => {
    const { status, body, retryAfter } = await world.responseTo(READ, refused(theirs, reason));

    expect({ status, reason: body['reason'], message: body['message'], retryAfter }).toEqual({
      status: 503,
      reason: 'unavailable',
      message: MESSAGES.unavailable,
      retryAfter: '1',
    });
    expect(world.lastLine()).toMatchObject({ level: 'error', requestId: 'ours', why: expect.stringContaining(why) });
  });

  it.each([
    [429, 'rate_limited', READ, {}],
    [429, 'rate_limited', PLACE, ORDER],
    [503, 'unavailable', READ, {}],
    [503, 'unavailable', PLACE, ORDER],
  ])('is passed on with %i %s to %s and a Retry-After', async (theirs, reason, call, init) => {
    // A 429 pauses later requests, so each case has a gateway of its own.
    const { status, body, retryAfter, response } = await world.responseOfNewGateway(
      call,
      { ...refused(theirs, reason), headers: { 'retry-after': '17' } },
      init,
    );

    expect({ status, reason: body['reason'], retryAfter }).toEqual({ status: theirs, reason, retryAfter: '17' });
    expect(response.headers.has('idempotency-key')).toBe(false);
  });

  it('is cut to a readable length and to the fields of the interface', async () => {
    const details = Array.from({ length: 200 }, () => ({
      path: '/amount',
      reason: 'odd',
      message: 'x'.repeat(2_000),
      more: 1,
    }));
    const body = { errorCode: 'unprocessable', reason: 'insufficient_funds', message: 'x'.repeat(100_000), details };

    const passed = (await world.responseTo(READ, { status: 422, body })).body as unknown as ErrorBody;

    expect(passed.message).toHaveLength(1_000);
    expect(passed.details).toHaveLength(100);
    expect(Object.keys(passed.details?.[0] ?? {})).toEqual(['path', 'reason', 'message']);
  });

  it.each([
    [400, 'workspace_id_required'],
    [400, 'header_repeated'],
    [405, 'method_not_allowed'],
    [406, 'not_acceptable'],
    [413, 'payload_too_large'],
    [431, 'headers_too_large'],
  ])('becomes 502 with %i %s, which only the gateway can have caused', async (theirs, reason) => {
    const { status, body } = await world.responseTo(READ, refused(theirs, reason));

    expect({ status, body }).toEqual({
      status: 502,
      body: {
        errorCode: 'upstream_error',
        message: MESSAGES.upstream_error,
        reason: 'upstream_error',
        requestId: 'ours',
      },
    });
    expect(world.lastLine()).toMatchObject({ level: 'warn', why: expect.stringContaining(String(theirs)) });
  });

  it.each([500, 401])('leaves a reason that is no code out of the log with status %i', async (theirs) => {
    const body = { errorCode: 'ada@northwind.example', message: 'No.', reason: 'NW0000000012' };

    await world.responseTo(READ, { status: theirs, body });

    expect(world.lastLine()?.['why']).toMatch(new RegExp(`status ${theirs}$`));
  });

  it.each<[string, Script]>([
    ['a known refusal', refused(404, 'app_not_found')],
    ['an unknown refusal', { status: 404, body: { errorCode: 'invalid_request', message: 'No.' } }],
  ])('becomes 502 if the user lists are refused with %s', async (_, script) => {
    world.upstream.says('GET /apps/1/users', script);
    const { status, body } = await world.responseOfNewGateway('GET /apps', {
      status: 200,
      body: [{ id: 1, name: 'Bank' }],
    });

    expect({ status, reason: body['reason'] }).toEqual({ status: 502, reason: 'upstream_error' });
  });
});

describe('any failure of the upstream', () => {
  const TOKEN = 'token-of-the-gateway';
  const texts = fc.oneof(
    fc.constantFrom(
      '',
      TOKEN,
      'No.',
      'insufficient_funds',
      'outcome_unknown',
      'unavailable',
      'rate_limited',
      'x'.repeat(1_500),
    ),
    fc.string(),
    fc.jsonValue({ maxDepth: 1 }),
  );
  const details = fc.array(fc.record({ path: texts, reason: texts, message: texts }));
  const bodies = fc.oneof(
    fc
      .record({ errorCode: texts, message: texts, reason: texts, details }, { requiredKeys: [] })
      .map((body) => JSON.stringify(body)),
    fc.string(),
  );
  const retryAfters = fc.constantFrom(null, '3', 'soon', '-1', '1.5', 'Wed, 21 Oct 2015 07:28:00 GMT');

  it('becomes a bounded response of the interface without the credential, and leaves a creation in doubt', async () => {
    const seen = new Set<unknown>();
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(200, 301, 400, 401, 403, 404, 409, 413, 422, 429, 500, 503, 504),
        bodies,
        retryAfters,
        async (status, body, retryAfter) => {
          const headers = {
            get: (name: string) => (name.toLowerCase() === 'retry-after' ? retryAfter : 'application/json'),
          };
          const response = { status, headers, arrayBuffer: async () => new Uint8Array(Buffer.from(body)).buffer };
          const client = new RemoteBankingService({
            baseUrl: 'http://x.example',
            token: TOKEN,
            retries: 0,
            fetch: async () => response,
          });
          const thrown: unknown = await client
            .placeOrder({ workspaceId: 1 as WorkspaceId }, { accountId: 1 } as never)
            .then(
              () => undefined,
              (error: unknown) => error,
            );
          // A body of a success may be valid by chance.
          if (thrown === undefined) return;

          const { response: passed, why = '' } = upstreamFailure(thrown, 'placeOrder')!;

          seen.add([400, 404, 409, 422].includes(passed.status) ? 'refused' : passed.status);
          const shown = [
            passed.errorCode,
            passed.message,
            passed.reason,
            ...(passed.details ?? []).flatMap(Object.values),
          ];
          expect(shown.filter((text) => typeof text !== 'string' || text.length > 1_000)).toEqual([]);
          expect([passed.errorCode, passed.message, passed.reason]).not.toContain('');
          expect(JSON.stringify([shown, why])).not.toContain(TOKEN);
          expect(why.length).toBeLessThanOrEqual(1_000);
          expect(passed.status).toBeGreaterThanOrEqual(status === 200 || status >= 500 ? 500 : 400);
          expect(passed.status).toBeLessThanOrEqual(504);
          const { retryAfterSeconds = 0 } = passed;
          expect(Number.isSafeInteger(retryAfterSeconds) && retryAfterSeconds >= 0).toBe(true);
        },
      ),
      { numRuns: 1_000 },
    );
    expect([...seen]).toEqual(expect.arrayContaining(['refused', 429, 502, 503, 504]));
  });
});

describe('an invalid response of the upstream', () => {
  const transfer = { id: 42, amount: '5' };

  it.each<[string, Script, string]>([
    ['is a page of a proxy', { status: 502, body: '<h1>ada@bank.example</h1>' }, 'status 502'],
    ['is 500 with a reason', refused(500, 'internal_error'), 'status 500 internal_error'],
    ['is 504 for a read', refused(504, 'outcome_unknown'), 'status 504 outcome_unknown'],
    ['is 503 without Retry-After', { status: 503, body: 'later' }, 'status 503'],
    ['is 404 in HTML', { status: 404, body: '<h1>Not found</h1>' }, 'status 404'],
    ['is 404 without a code', { status: 404, body: { message: 'no' } }, 'status 404'],
    ['is a redirect', { status: 302, headers: { location: 'https://elsewhere.example/' } }, 'redirect'],
    ['is HTML', { status: 200, body: '<h1>Welcome</h1>' }, 'Content-Type'],
    ['has another id', { status: 200, body: { ...transfer, id: 43 } }, 'another id'],
    ['has a number for an amount', { status: 200, body: { ...transfer, amount: 5 } }, '/amount must be string'],
    ['lacks a required field', { status: 200, body: { id: 42 } }, "must have required property 'amount'"],
    [
      'breaks off',
      (_, response) => void response.writeHead(200, { 'content-length': '100' }).write('{', () => response.destroy()),
      'UND_ERR_SOCKET',
    ],
    ['never begins', (request) => void request.socket.destroy(), 'UND_ERR_SOCKET'],
  ])('becomes 502 without details if it %s, and the log has the reason', async (_, script, why) => {
    const { status, body } = await world.responseTo(READ, script);

    expect({ status, body }).toEqual({
      status: 502,
      body: {
        errorCode: 'upstream_error',
        message: MESSAGES.upstream_error,
        reason: 'upstream_error',
        requestId: 'ours',
      },
    });
    expect(world.lastLine()).toMatchObject({ level: 'warn', requestId: 'ours', why: expect.stringContaining(why) });
    expect(JSON.stringify(world.gateway.lines)).not.toContain('ada@bank.example');
  });

  it.each<[string, Script]>([
    ['does not come', timeIsOver],
    [
      'does not end',
      (_, response) =>
        void response.writeHead(200, { 'content-type': 'application/json' }).write('{', () => timeIsOver()),
    ],
  ])('becomes 504 if it %s in time', async (_, script) => {
    const { status, body } = await world.responseTo(READ, script);

    expect({ status, body }).toEqual({
      status: 504,
      body: {
        errorCode: 'upstream_timeout',
        message: MESSAGES.upstream_timeout,
        reason: 'upstream_timeout',
        requestId: 'ours',
      },
    });
  });

  it('does not open the circuit, however often it comes', async () => {
    for (let time = 0; time < 12; time += 1) {
      expect((await world.responseTo(READ, { status: 200, body: { ...transfer, amount: 5 } })).status).toBe(502);
    }

    expect((await world.responseTo(READ, { status: 200, body: transfer })).status).toBe(200);
  });

  it('becomes 502 if it is too large', async () => {
    const script = { status: 200, body: { ...transfer, description: 'x'.repeat(17 * 1024 * 1024) } };
    const { status, body } = await world.responseOfNewGateway(READ, script);

    expect([status, body['reason']]).toEqual([502, 'upstream_error']);
  });

  it('becomes 502 if it cannot be written as CSV', async () => {
    const account = { id: 1, name: 'A', edges: { currency: { id: 1, code: 'XQX', name: 'Nothing' } } };
    const statement = {
      from: '2026-11-01',
      to: '2026-12-01',
      basis: 'valueDate',
      openingBalance: 0,
      closingBalance: 0,
      movements: [],
      edges: { account },
    };
    const call = 'GET /accounts/1/statement';
    world.upstream.says(call, { status: 200, body: statement });
    const send = (accept: string) =>
      world.gateway.send(`${call}?from=2026-11-01&to=2026-12-01`, { headers: { accept } });

    expect(await (await send('application/json')).json()).toEqual(statement);
    const table = await send('text/csv');
    expect({ status: table.status, file: table.headers.get('content-disposition') }).toEqual({
      status: 502,
      file: null,
    });
    expect(world.lastLine()).toMatchObject({ why: expect.stringContaining('currency_unknown') });
  });

  it.each<[string, Script, number, string]>([
    ['is 500', refused(500, 'internal_error'), 502, 'upstream_error'],
    ['is 503', { status: 503, headers: { 'retry-after': '2' } }, 504, 'outcome_unknown'],
    ['is outcome_unknown', refused(504, 'outcome_unknown'), 504, 'outcome_unknown'],
    ['does not arrive', timeIsOver, 504, 'upstream_timeout'],
    ['breaks off', (request) => void request.socket.destroy(), 502, 'upstream_error'],
    ['is of another type', { status: 201, body: [{ id: 1 }] }, 502, 'upstream_error'],
    ['is a redirect', { status: 302, headers: { location: 'https://elsewhere.example/' } }, 502, 'upstream_error'],
    ['is 404 in HTML', { status: 404, body: '<h1>Not found</h1>' }, 502, 'upstream_error'],
    ['is 400 without a body', { status: 400 }, 502, 'upstream_error'],
    ['is 413 of a proxy', { status: 413 }, 502, 'upstream_error'],
    ['is 408', refused(408, 'request_timeout'), 502, 'upstream_error'],
    ['refuses a header of the gateway', refused(400, 'workspace_id_invalid'), 502, 'upstream_error'],
  ])('gives the caller an idempotency key for the retry of a creation if it %s', async (_, script, status, reason) => {
    const made = await world.responseTo(PLACE, script, ORDER);
    const theirs = world.upstream.received.filter(({ method }) => method === 'POST');

    expect([made.status, made.body['reason'], theirs.length]).toEqual([status, reason, 1]);
    expect(made.response.headers.get('idempotency-key')).toMatch(/^[0-9a-f]{32}$/);
    expect(theirs[0]?.headers['idempotency-key']).toBe(made.response.headers.get('idempotency-key'));

    const own = await world.responseTo(PLACE, script, { ...ORDER, headers: { 'idempotency-key': 'mine' } });
    expect(own.response.headers.get('idempotency-key')).toBe('mine');
  });

  it('gives one also if the user lists cannot be read', async () => {
    world.upstream.says('GET /apps/1/users', { status: 502 });
    const { status, response } = await world.responseOfNewGateway(PLACE, { status: 201 }, ORDER);
    const own = { ...ORDER, headers: { 'idempotency-key': 'mine' } };
    const mine = await world.responseOfNewGateway(PLACE, { status: 201 }, own);

    expect([status, mine.status]).toEqual([502, 502]);
    expect(response.headers.get('idempotency-key')).toMatch(/^[0-9a-f]{32}$/);
    expect(mine.response.headers.get('idempotency-key')).toBe('mine');
  });

  it('gives none for a change without a key', async () => {
    const init = { method: 'PATCH', body: '{"alias":"Rent"}', headers: { 'idempotency-key': 'mine' } };
    const { status, response } = await world.responseTo('PATCH /accounts/1', { status: 502 }, init);

    expect([status, response.headers.get('idempotency-key')]).toEqual([502, null]);
  });

  it('gives no idempotency key if nothing was sent', async () => {
    for (let time = 0; time < 5; time += 1) await world.responseTo(READ, (request) => void request.socket.destroy());
    const { status, response, retryAfter } = await world.responseTo(PLACE, { status: 502 }, ORDER);

    expect({ status, retryAfter, key: response.headers.get('idempotency-key') }).toEqual({
      status: 503,
      retryAfter: '5',
      key: null,
    });
    expect(world.upstream.received.filter(({ method }) => method === 'POST')).toEqual([]);
  });
});
