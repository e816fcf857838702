import { MESSAGES, ORDER, PLACE, READ, refused, scriptedGateway } from './testing/scripted-gateway.js';
import type { Script } from './testing/scripted-upstream.js';

let world: Awaited<ReturnType<typeof scriptedGateway>>;

beforeAll(async () => {
  world = await scriptedGateway({ UPSTREAM_TIMEOUT_MS: '500' });
});
afterAll(() => world.close());
beforeEach(() => world.reset());

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
    ['does not come', () => undefined],
    ['does not end', (_, response) => void response.writeHead(200, { 'content-type': 'application/json' }).write('{')],
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
    ['does not arrive', () => undefined, 504, 'upstream_timeout'],
    ['breaks off', (request) => void request.socket.destroy(), 502, 'upstream_error'],
    ['is of another type', { status: 201, body: [{ id: 1 }] }, 502, 'upstream_error'],
  ])('gives the caller an idempotency key for the retry of a creation if it %s', async (_, script, status, reason) => {
    const made = await world.responseTo(PLACE, script, ORDER);
    const theirs = world.upstream.received.filter(({ method }) => method === 'POST');

    expect([made.status, made.body['reason'], theirs.length]).toEqual([status, reason, 1]);
    expect(made.response.headers.get('idempotency-key')).toMatch(/^[0-9a-f]{32}$/);
    expect(theirs[0]?.headers['idempotency-key']).toBe(made.response.headers.get('idempotency-key'));

    const own = await world.responseTo(PLACE, script, { ...ORDER, headers: { 'idempotency-key': 'mine' } });
    expect(own.response.headers.get('idempotency-key')).toBe('mine');
  });

  it('gives no idempotency key if nothing was sent', async () => {
    for (let time = 0; time < 5; time += 1) await world.responseTo(READ, { status: 502 });
    const { status, response, retryAfter } = await world.responseTo(PLACE, { status: 502 }, ORDER);

    expect({ status, retryAfter, key: response.headers.get('idempotency-key') }).toEqual({
      status: 503,
      retryAfter: '5',
      key: null,
    });
    expect(world.upstream.received.filter(({ method }) => method === 'POST')).toEqual([]);
  });
});
