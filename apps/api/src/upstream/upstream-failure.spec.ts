import type { ErrorBody } from '@banking/domain';
import { gatewayOf } from './testing/gateway-of.js';
import { scriptedUpstream, type Script } from './testing/scripted-upstream.js';

let upstream: Awaited<ReturnType<typeof scriptedUpstream>>;
let gateway: Awaited<ReturnType<typeof gatewayOf>>;

/** One for all: Nest has one logger in a process. */
beforeAll(async () => {
  upstream = await scriptedUpstream();
  gateway = await gatewayOf(upstream.url, { UPSTREAM_TIMEOUT_MS: '500' });
});
afterAll(async () => {
  await gateway.close();
  await upstream.close();
});
/** A success, after which no failures are in a row. */
beforeEach(async () => {
  upstream.reset();
  upstream.says('GET /accounts', { status: 200, body: [] });
  expect((await gateway.ask('GET /accounts')).status).toBe(200);
  upstream.received.length = 0;
  gateway.lines.length = 0;
});

const ORDER = { method: 'POST', body: JSON.stringify({ amount: '5000', recipientID: 1, type: 'instant' }) };
const PLACE = 'POST /accounts/1/orders';
const READ = 'GET /transfers/42';

const refused = (status: number, reason: string, more = {}) => ({ status, body: { errorCode: 'unprocessable', message: 'No.', reason, requestId: 'theirs', ...more } }); // prettier-ignore

/** What our caller gets of what the upstream says. */
async function answerTo(call: string, script: Script, init: RequestInit = {}, by = gateway) {
  upstream.says(call, script);
  const response = await by.ask(call, { ...init, headers: { 'x-request-id': 'ours', ...init.headers } });
  const body = (await response.json()) as Record<string, unknown>;
  return { response, status: response.status, body, retryAfter: response.headers.get('retry-after') };
}

/** The same, of a gateway that nothing has been asked of, and with the usual time. */
async function answerByAnother(call: string, script: Script, init?: RequestInit) {
  const other = await gatewayOf(upstream.url);
  return answerTo(call, script, init, other).finally(() => other.close());
}

const lastLine = () => gateway.lines.at(-1);

const SENTENCES = {
  upstream_error: 'What answers behind this gateway failed, or cannot be trusted.',
  upstream_timeout: 'What answers behind this gateway did not answer in time.',
  unavailable: 'The service cannot answer at the moment. Nothing was done.',
};

describe('Given a refusal of the upstream', () => {
  it('When it is one of our table, Then it is passed on as it is, under the id of our own request', async () => {
    const details = [{ path: '/purposeCode', reason: 'purpose_code_invalid', message: 'Choose another.' }];
    const { status, body } = await answerTo(PLACE, refused(422, 'purpose_code_invalid', { details }), ORDER);

    expect(status).toBe(422);
    expect(body).toEqual({ errorCode: 'unprocessable', message: 'No.', reason: 'purpose_code_invalid', requestId: 'ours', details }); // prettier-ignore
    expect(gateway.lines).toEqual([]);
  });

  it('When it asks to wait, Then so do we', async () => {
    const { status, retryAfter } = await answerTo(PLACE, { ...refused(409, 'idempotency_in_progress'), headers: { 'retry-after': '3' } }, ORDER); // prettier-ignore

    expect({ status, retryAfter }).toEqual({ status: 409, retryAfter: '3' });
  });

  it('When it asks to wait for years, Then we say an hour', async () => {
    const { retryAfter } = await answerTo(READ, { ...refused(503, 'unavailable'), headers: { 'retry-after': 'Fri, 31 Dec 9999 23:59:59 GMT' } }); // prettier-ignore

    expect(retryAfter).toBe('3600');
  });

  it('When its reason is none we know, Then it is passed on in its own words', async () => {
    const script = { status: 422, body: { errorCode: 'nope', message: 'Mondays only.', reason: 'weekday', details: [{ path: '/startAt', reason: 'x', message: 'y', secret: 1 }, 7] } }; // prettier-ignore
    const { status, body } = await answerTo(PLACE, script, ORDER);

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
  ])('When the published interface answers %s with %i and no reason, Then ours is %s', async (call, status, reason) => {
    const theirs = { status, body: { errorCode: 'invalid_request', message: 'Request parameters are invalid.' } };

    expect(await answerTo(call, theirs)).toMatchObject({
      status,
      body: { errorCode: 'invalid_request', message: 'Request parameters are invalid.', reason, requestId: 'ours' },
    });
  });
});

describe('Given what is between the upstream and us', () => {
  it.each([
    [401, 'not_authenticated', 'does not accept our credential'],
    [403, 'role_insufficient', 'our credential may not do this'],
  ])('When it answers %i, Then our caller is told 503 and the operator is called', async (theirs, reason, why) => {
    const { status, body, retryAfter } = await answerTo(READ, refused(theirs, reason));

    expect({ status, reason: body['reason'], message: body['message'], retryAfter }).toEqual({ status: 503, reason: 'unavailable', message: SENTENCES.unavailable, retryAfter: '1' }); // prettier-ignore
    expect(lastLine()).toMatchObject({ level: 'error', requestId: 'ours', why: expect.stringContaining(why) });
  });

  it.each([
    [429, 'rate_limited', READ, {}],
    [429, 'rate_limited', PLACE, ORDER],
    [503, 'unavailable', READ, {}],
    [503, 'unavailable', PLACE, ORDER],
  ])('When it answers %i %s to %s with a time to wait, Then our caller is told the same', async (theirs, reason, call, init) => {
    // A 429 makes the next request wait, so it is another gateway's.
    const { status, body, retryAfter, response } = await answerByAnother(call, { ...refused(theirs, reason), headers: { 'retry-after': '17' } }, init);

    expect({ status, reason: body['reason'], retryAfter }).toEqual({ status: theirs, reason, retryAfter: '17' });
    expect(response.headers.has('idempotency-key')).toBe(false);
  }); // prettier-ignore

  it('When a refusal says more than a person reads, Then it passes shortened, and nothing beside its three words', async () => {
    const details = Array.from({ length: 200 }, () => ({ path: '/amount', reason: 'odd', message: 'x'.repeat(2_000), more: 1 }));
    const body = { errorCode: 'unprocessable', reason: 'insufficient_funds', message: 'x'.repeat(100_000), details };

    const said = (await answerTo(READ, { status: 422, body })).body as unknown as ErrorBody;

    expect(said.message).toHaveLength(1_000);
    expect(said.details).toHaveLength(100);
    expect(Object.keys(said.details?.[0] ?? {})).toEqual(['path', 'reason', 'message']);
  }); // prettier-ignore

  it.each([
    [400, 'workspace_id_required'],
    [400, 'header_repeated'],
    [405, 'method_not_allowed'],
    [406, 'not_acceptable'],
    [413, 'payload_too_large'],
    [431, 'headers_too_large'],
  ])('When it answers %i %s, which only we can have caused, Then that is 502', async (theirs, reason) => {
    const { status, body } = await answerTo(READ, refused(theirs, reason));

    expect({ status, body }).toEqual({ status: 502, body: { errorCode: 'upstream_error', message: SENTENCES.upstream_error, reason: 'upstream_error', requestId: 'ours' } }); // prettier-ignore
    expect(lastLine()).toMatchObject({ level: 'warn', why: expect.stringContaining(String(theirs)) });
  });

  it.each([500, 401])(
    'When it answers %i in words that are none, Then the log does not repeat them',
    async (theirs) => {
      const body = { errorCode: 'ada@northwind.example', message: 'No.', reason: 'NW0000000012' };

      await answerTo(READ, { status: theirs, body });

      expect(lastLine()?.['why']).toMatch(new RegExp(`it answered ${theirs}$`));
    },
  );

  it.each<[string, Script]>([
    ['a refusal we know', refused(404, 'app_not_found')],
    ['one we do not', { status: 404, body: { errorCode: 'invalid_request', message: 'No.' } }],
  ])('When it answers with %s where we ask who our callers are, Then that is never their fault', async (_, script) => {
    upstream.says('GET /apps/1/users', script);
    const { status, body } = await answerByAnother('GET /apps', { status: 200, body: [{ id: 1, name: 'Bank' }] });

    expect({ status, reason: body['reason'] }).toEqual({ status: 502, reason: 'upstream_error' });
  });
});

describe('Given an answer of the upstream that cannot be believed', () => {
  const transfer = { id: 42, amount: '5' };

  it.each<[string, Script, string]>([
    ['is a page of a proxy', { status: 502, body: '<h1>ada@bank.example</h1>' }, 'answered 502'],
    ['is 500 with words of its own', refused(500, 'internal_error'), 'answered 500 internal_error'],
    ['is 504 for a read', refused(504, 'outcome_unknown'), 'answered 504 outcome_unknown'],
    ['is 503 without a time', { status: 503, body: 'later' }, 'answered 503'],
    ['is 404 in HTML', { status: 404, body: '<h1>Not found</h1>' }, 'answered 404'],
    ['is 404 without a word', { status: 404, body: { message: 'no' } }, 'answered 404'],
    ['is a redirect', { status: 302, headers: { location: 'https://elsewhere.example/' } }, 'redirect'],
    ['is HTML', { status: 200, body: '<h1>Welcome</h1>' }, 'Content-Type'],
    ['is of another id', { status: 200, body: { ...transfer, id: 43 } }, 'another id'],
    ['has a number for an amount', { status: 200, body: { ...transfer, amount: 5 } }, '/amount must be string'],
    ['lacks what it must have', { status: 200, body: { id: 42 } }, "must have required property 'amount'"],
    ['breaks off', (_, response) => void response.writeHead(200, { 'content-length': '100' }).write('{', () => response.destroy()), 'UND_ERR_SOCKET'], // prettier-ignore
    ['never begins', (request) => void request.socket.destroy(), 'UND_ERR_SOCKET'],
  ])('When it %s, Then our caller is told 502 and no more, and the log says what it was', async (_, script, why) => {
    const { status, body } = await answerTo(READ, script);

    expect({ status, body }).toEqual({ status: 502, body: { errorCode: 'upstream_error', message: SENTENCES.upstream_error, reason: 'upstream_error', requestId: 'ours' } }); // prettier-ignore
    expect(lastLine()).toMatchObject({ level: 'warn', requestId: 'ours', why: expect.stringContaining(why) });
    expect(JSON.stringify(gateway.lines)).not.toContain('ada@bank.example');
  });

  it.each<[string, Script]>([
    ['does not come', () => undefined],
    ['does not end', (_, response) => void response.writeHead(200, { 'content-type': 'application/json' }).write('{')], // prettier-ignore
  ])('When it %s in time, Then our caller is told 504', async (_, script) => {
    const { status, body } = await answerTo(READ, script);

    expect({ status, body }).toEqual({ status: 504, body: { errorCode: 'upstream_timeout', message: SENTENCES.upstream_timeout, reason: 'upstream_timeout', requestId: 'ours' } }); // prettier-ignore
  });

  it('When it is larger than is read, Then our caller is told 502, however much time there is', async () => {
    const script = { status: 200, body: { ...transfer, description: 'x'.repeat(17 * 1024 * 1024) } };
    const { status, body } = await answerByAnother(READ, script);

    expect([status, body['reason']]).toEqual([502, 'upstream_error']);
  });

  it('When a statement cannot be written as a table, Then that is no fault of our caller either', async () => {
    const account = { id: 1, name: 'A', edges: { currency: { id: 1, code: 'XQX', name: 'Nothing' } } };
    const statement = { from: '2026-11-01', to: '2026-12-01', basis: 'valueDate', openingBalance: 0, closingBalance: 0, movements: [], edges: { account } }; // prettier-ignore
    const call = 'GET /accounts/1/statement';
    upstream.says(call, { status: 200, body: statement });
    const ask = (accept: string) => gateway.ask(`${call}?from=2026-11-01&to=2026-12-01`, { headers: { accept } });

    expect(await (await ask('application/json')).json()).toEqual(statement);
    const table = await ask('text/csv');
    expect({ status: table.status, file: table.headers.get('content-disposition') }).toEqual({
      status: 502,
      file: null,
    });
    expect(lastLine()).toMatchObject({ why: expect.stringContaining('currency_unknown') });
  });

  it.each<[string, Script, number, string]>([
    ['fails', refused(500, 'internal_error'), 502, 'upstream_error'],
    ['is unavailable, or a proxy is,', { status: 503, headers: { 'retry-after': '2' } }, 504, 'outcome_unknown'],
    ['does not know the outcome', refused(504, 'outcome_unknown'), 504, 'outcome_unknown'],
    ['is silent', () => undefined, 504, 'upstream_timeout'],
    ['breaks off', (request) => void request.socket.destroy(), 502, 'upstream_error'],
    ['answers something else', { status: 201, body: [{ id: 1 }] }, 502, 'upstream_error'],
  ])(
    'When it %s while something is made, Then our caller gets a key to repeat it with',
    async (_, script, status, reason) => {
      const made = await answerTo(PLACE, script, ORDER);
      const theirs = upstream.received.filter(({ method }) => method === 'POST');

      expect([made.status, made.body['reason'], theirs.length]).toEqual([status, reason, 1]);
      expect(made.response.headers.get('idempotency-key')).toMatch(/^[0-9a-f]{32}$/);
      expect(theirs[0]?.headers['idempotency-key']).toBe(made.response.headers.get('idempotency-key'));

      const own = await answerTo(PLACE, script, { ...ORDER, headers: { 'idempotency-key': 'mine' } });
      expect(own.response.headers.get('idempotency-key')).toBe('mine');
    },
  );

  it('When nothing was sent, Then there is nothing to repeat with a key', async () => {
    for (let time = 0; time < 5; time += 1) await answerTo(READ, { status: 502 });
    const { status, response, retryAfter } = await answerTo(PLACE, { status: 502 }, ORDER);

    expect({ status, retryAfter, key: response.headers.get('idempotency-key') }).toEqual({ status: 503, retryAfter: '5', key: null }); // prettier-ignore
    expect(upstream.received.filter(({ method }) => method === 'POST')).toEqual([]);
  });
});
