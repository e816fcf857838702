import { inspect } from 'node:util';
import { type PlaceOrderInput, Refusal } from '@banking/domain';
import {
  BankingClient,
  type BankingClientOptions,
  ConnectionError,
  OutcomeUnknownError,
  RemoteRefusal,
  ServiceError,
} from './index.js';
import {
  responds,
  dies,
  hangs,
  JSON_TYPE,
  refuses,
  type ScriptedService,
  scriptedService,
  type Step,
} from './testing/scripted-service.js';

let service: ScriptedService;
beforeEach(async () => {
  service = await scriptedService();
});
afterEach(() => service.close());

const INPUT: PlaceOrderInput = { accountId: 1, amount: '100', recipientID: 2, type: 'instant' };
const clientWith = (options: Partial<BankingClientOptions> = {}) =>
  new BankingClient({ baseUrl: service.url, token: 'secret-token', retries: 1, ...options });
const place = (options: Partial<BankingClientOptions> = {}, call = {}) =>
  clientWith(options)
    .workspace(7)
    .orders.place(INPUT, call)
    .then(
      (order) => Promise.reject(new Error(`placed: ${inspect(order)}`)),
      (error: unknown) => error as Error,
    );
const busy = refuses(503, 'unavailable', { 'Retry-After': '0' });
const rateLimited = refuses(429, 'rate_limited', { 'Retry-After': '0' });

describe('payment with an unknown outcome', () => {
  it.each([
    ['the connection dies every time', [dies], {}, ConnectionError],
    ['the time is over', [hangs], { timeoutMs: 100 }, ConnectionError],
    ['half an answer comes', [half], {}, ConnectionError],
    ['it is a 500 every time', [refuses(500, 'internal_error')], {}, RemoteRefusal],
    ['a response of a proxy', [html(502)], {}, ServiceError],
    ['the service does not know either', [refuses(504, 'outcome_unknown', { 'Retry-After': '0' })], {}, RemoteRefusal],
    ['a proxy says that it is unavailable', [html(503)], {}, ServiceError],
    [
      'it is unavailable for a reason this version does not know',
      [refuses(503, 'no_word_of_ours', { 'Retry-After': '0' })],
      {},
      ServiceError,
    ],
    ['the connection dies, and then it is unavailable', [dies, busy], {}, RemoteRefusal],
    ['it is unavailable, and then the connection dies', [busy, dies], {}, ConnectionError],
    ['a success is no JSON', [html(201)], {}, ServiceError],
    ['a success holds a number that cannot be read', [wide], {}, ServiceError],
    ['the connection dies, and then it is rejected for its rate', [dies, rateLimited], {}, RemoteRefusal],
    [
      'the connection dies, and then the token has expired',
      [dies, refuses(401, 'not_authenticated')],
      {},
      RemoteRefusal,
    ],
    [
      'the connection dies, and then it is refused: the first try may still be on its way',
      [dies, refuses(422, 'insufficient_funds')],
      {},
      RemoteRefusal,
    ],
    [
      'the connection dies, and then the key was used',
      [dies, refuses(422, 'idempotency_key_reused')],
      {},
      RemoteRefusal,
    ],
    ['the connection dies, and then something in between refuses', [dies, html(422)], {}, ServiceError],
    [
      'an earlier request with the key still runs',
      [refuses(409, 'idempotency_in_progress', { 'Retry-After': '0' })],
      {},
      RemoteRefusal,
    ],
    [
      'the connection dies, and then it still runs',
      [dies, refuses(409, 'idempotency_in_progress', { 'Retry-After': '0' })],
      {},
      RemoteRefusal,
    ],
  ] as const)('throws OutcomeUnknownError with the key after %s', async (_, steps, options, cause) => {
    service.script(...steps);

    const error = await place(options, { idempotencyKey: 'rent-11' });

    expect(error).toBeInstanceOf(OutcomeUnknownError);
    expect(error).toMatchObject({ idempotencyKey: 'rent-11' });
    expect(error.cause).toBeInstanceOf(cause);
    expect(error.message).toBe(
      'It is not known whether POST /accounts/1/orders was executed. Send the same request with the same key.',
    );
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain('secret-token');
  });

  it('stays unknown if the connection breaks and then the token function fails', async () => {
    service.script(dies);

    const error = await place({ token: onceThenFails('token') });

    expect(error).toBeInstanceOf(OutcomeUnknownError);
    expect(error.cause).toMatchObject({ status: 422 });
  });

  it('is unknown if a success cannot be inspected', async () => {
    service.script(responds(201, { id: 9 }));
    const inspect = () => {
      throw new Error('inspect failed');
    };

    expect(await place({ inspect })).toMatchObject({
      name: 'OutcomeUnknownError',
      cause: { message: 'inspect failed' },
    });
  });

  it('throws the generated key if the caller gave none', async () => {
    service.script(dies);

    const error = (await place()) as OutcomeUnknownError;

    expect(service.received.map(({ headers }) => headers['idempotency-key'])).toEqual(
      Array(2).fill(error.idempotencyKey),
    );
  });

  it('is unknown if the caller aborts after sending', async () => {
    const giveUp = new AbortController();
    service.script(() => giveUp.abort(new Error('the user has left')));

    const error = await place({}, { signal: giveUp.signal });

    expect(error).toBeInstanceOf(OutcomeUnknownError);
    expect(error).toMatchObject({ cause: { cause: { message: 'the user has left' } } });
    expect(service.received).toHaveLength(1);
  });

  it('returns the first order as a replay if it is sent again with the key', async () => {
    service.script(dies, dies, responds(201, { id: 9 }, { 'Idempotent-Replayed': 'true' }));
    const { idempotencyKey } = (await place()) as OutcomeUnknownError;

    const again = await clientWith().workspace(7).orders.place(INPUT, { idempotencyKey });

    expect(again).toMatchObject({ resource: { id: 9 }, isReplay: true, idempotencyKey });
  });

  it('advises to read the current state after a change without a key', async () => {
    service.script(dies);

    const error = await clientWith()
      .workspace(7)
      .orders.cancel(1, 9)
      .catch((thrown: unknown) => thrown);

    expect(error).toBeInstanceOf(OutcomeUnknownError);
    expect(error).toMatchObject({
      idempotencyKey: undefined,
      message: expect.stringMatching(/Read the current state\.$/),
    });
  });
});

describe('payment that was not executed', () => {
  it.each([
    ['refused', [refuses(422, 'insufficient_funds')], RemoteRefusal],
    ['unavailable every time', [busy], RemoteRefusal],
    ['rejected for its rate every time', [rateLimited], RemoteRefusal],
    ['redirected', [(response) => response.writeHead(308, { Location: '/x' }).end()], ServiceError],
  ] as const satisfies readonly (readonly [string, readonly Step[], unknown])[])(
    'throws the refusal if it is %s',
    async (_, steps, kind) => {
      service.script(...steps);

      expect(await place()).toBeInstanceOf(kind);
    },
  );

  it('throws the error of the token function without a retry', async () => {
    let calls = 0;
    const failure = Object.assign(new Error('the issuer is closed'), { status: 503 });

    expect(await place({ token: () => Promise.reject((calls += 1) && failure) })).toBe(failure);
    expect([calls, service.received]).toEqual([1, []]);
  });

  it('throws the refusal of the transport', async () => {
    const open = new Refusal('unavailable', 'The circuit is open.', { retryAfterSeconds: 60 });

    expect(await place({ fetch: () => Promise.reject(open) })).toBe(open);
  });

  it('reports that nothing was sent if the token does not arrive in time', async () => {
    expect(await place({ token: () => new Promise<never>(() => {}), timeoutMs: 50 })).toMatchObject({
      name: 'ConnectionError',
      timedOut: true,
      neverSent: true,
    });
    expect(service.received).toEqual([]);
  });

  it('reports that nothing was sent after a refused connection', async () => {
    await service.close();

    const error = await place();

    expect(error).toBeInstanceOf(ConnectionError);
    expect(error).toMatchObject({ neverSent: true });
  });

  it('sends nothing if the caller aborted before, and throws the reason of the abort', async () => {
    const reason = new Error('too late');

    expect(await place({}, { signal: AbortSignal.abort(reason) })).toBe(reason);
    expect(service.received).toEqual([]);
  });
});

describe('fetch that ignores its signal', () => {
  it('is ended at the deadline', async () => {
    const error = await place({ fetch: () => new Promise<never>(() => {}), timeoutMs: 50 });

    expect(error).toMatchObject({ name: 'OutcomeUnknownError', cause: { timedOut: true } });
  });
});

/** Returns the token at the first call, and then fails like an HTTP library. */
function onceThenFails(token: string): () => Promise<string> {
  let calls = 0;
  return () =>
    (calls += 1) === 1
      ? Promise.resolve(token)
      : Promise.reject(Object.assign(new Error('unprocessable'), { status: 422 }));
}

function html(status: number): Step {
  return (response) => response.writeHead(status, { 'Content-Type': 'text/html' }).end('<h1>Sorry</h1>');
}

function wide(response: Parameters<Step>[0]): void {
  response.writeHead(201, JSON_TYPE).end('{"id":9007199254740993}');
}

function half(response: Parameters<Step>[0]): void {
  response.writeHead(201, { ...JSON_TYPE, 'Content-Length': '100' }).write('{"id":');
  response.socket?.end();
}
