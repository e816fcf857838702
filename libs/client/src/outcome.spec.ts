import { inspect } from 'node:util';
import { Refusal } from '@banking/domain';
import { BankingClient, type BankingClientOptions, ConnectionError, OutcomeUnknownError, RemoteRefusal, ServiceError } from './index.js'; // prettier-ignore
import { answers, dies, hangs, JSON_TYPE, refuses, type ScriptedService, scriptedService, type Step } from './testing/scripted-service.js'; // prettier-ignore

let service: ScriptedService;
beforeEach(async () => {
  service = await scriptedService();
});
afterEach(() => service.close());

const WISH = { accountId: 1, amount: '100', recipientID: 2, type: 'instant' } as Parameters<BankingClient['placeOrder']>[1]; // prettier-ignore
const clientWith = (options: Partial<BankingClientOptions> = {}) =>
  new BankingClient({ baseUrl: service.url, token: 'secret-token', retries: 1, ...options });
const place = (options: Partial<BankingClientOptions> = {}, call = {}) =>
  clientWith(options)
    .workspace(7)
    .orders.place(WISH, call)
    .then(
      (order) => Promise.reject(new Error(`placed: ${inspect(order)}`)),
      (error: unknown) => error as Error,
    );
const busy = refuses(503, 'unavailable', { 'Retry-After': '0' });

describe('Given a payment whose outcome is not known', () => {
  it.each([
    ['the connection dies every time', [dies], {}, ConnectionError],
    ['the time is over', [hangs], { timeoutMs: 100 }, ConnectionError],
    ['half an answer comes', [half], {}, ConnectionError],
    ['it is a 500 every time', [refuses(500, 'internal_error')], {}, RemoteRefusal],
    ['a proxy answers for it', [html(502)], {}, ServiceError],
    ['the service does not know either', [refuses(504, 'outcome_unknown', { 'Retry-After': '0' })], {}, RemoteRefusal],
    ['a proxy says that it is unavailable', [html(503)], {}, ServiceError],
    ['it is unavailable for a reason this version does not know', [refuses(503, 'no_word_of_ours', { 'Retry-After': '0' })], {}, ServiceError],
    ['the connection dies, and then it is unavailable', [dies, busy], {}, RemoteRefusal],
    ['it is unavailable, and then the connection dies', [busy, dies], {}, ConnectionError],
    ['a success is no JSON', [html(201)], {}, ServiceError],
    ['a success holds a number that cannot be read', [wide], {}, ServiceError],
    ['the connection dies, and then it is turned away for its rate', [dies, refuses(429, 'rate_limited', { 'Retry-After': '0' })], {}, RemoteRefusal],
    ['the connection dies, and then the token has expired', [dies, refuses(401, 'not_authenticated')], {}, RemoteRefusal],
    ['the connection dies, and then it is refused: the first try may still be on its way', [dies, refuses(422, 'insufficient_funds')], {}, RemoteRefusal],
    ['the connection dies, and then the key was used', [dies, refuses(422, 'idempotency_key_reused')], {}, RemoteRefusal],
    ['the connection dies, and then something in between refuses', [dies, html(422)], {}, ServiceError],
    ['the connection dies, and then it still runs', [dies, refuses(409, 'idempotency_in_progress', { 'Retry-After': '0' })], {}, RemoteRefusal],
  ] as const)('When %s, Then the error says so and carries the key', async (_, steps, options, cause) => {
    service.script(...steps);

    const error = await place(options, { idempotencyKey: 'rent-11' });

    expect(error).toBeInstanceOf(OutcomeUnknownError);
    expect(error).toMatchObject({ idempotencyKey: 'rent-11' });
    expect(error.cause).toBeInstanceOf(cause);
    expect(error.message).toBe('Whether POST /accounts/1/orders was carried out is not known. Send the same again with the same key.'); // prettier-ignore
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain('secret-token');
  }); // prettier-ignore

  it.each([
    ['the token function', { token: ofTries(() => 'token') }],
    ['the signer', { signer: ofTries(() => ({})) }],
  ])('When the connection dies, and then %s fails in words of its own, Then it is not the answer', async (_, options) => {
    service.script(dies);

    const error = await place(options);

    expect(error).toBeInstanceOf(OutcomeUnknownError);
    expect(error.cause).toMatchObject({ status: 422 });
  }); // prettier-ignore

  it('When a success cannot be looked at, Then it may have been carried out all the same', async () => {
    service.script(answers(201, { id: 9 }));
    const inspect = () => {
      throw new Error('a bug of who inspects');
    };

    expect(await place({ inspect })).toMatchObject({ name: 'OutcomeUnknownError', cause: { message: 'a bug of who inspects' } }); // prettier-ignore
  });

  it('When the caller had given no key, Then the error carries the one that was sent', async () => {
    service.script(dies);

    const error = (await place()) as OutcomeUnknownError;

    expect(service.asked.map(({ headers }) => headers['idempotency-key'])).toEqual(Array(2).fill(error.idempotencyKey));
  });

  it('When the caller gives up while it is on its way, Then that is an unknown outcome too', async () => {
    const giveUp = new AbortController();
    service.script(() => giveUp.abort(new Error('the user has left')));

    const error = await place({}, { signal: giveUp.signal });

    expect(error).toBeInstanceOf(OutcomeUnknownError);
    expect(error).toMatchObject({ cause: { cause: { message: 'the user has left' } } });
    expect(service.asked).toHaveLength(1);
  });

  it('When it is sent again with the key, Then the first order comes back, and is known as such', async () => {
    service.script(dies, dies, answers(201, { id: 9 }, { 'Idempotent-Replayed': 'true' }));
    const { idempotencyKey } = (await place()) as OutcomeUnknownError;

    const again = await clientWith().workspace(7).orders.place(WISH, { idempotencyKey });

    expect(again).toMatchObject({ resource: { id: 9 }, isReplay: true, idempotencyKey });
  });

  it('When a change that takes no key gets no answer, Then there is no key, and the advice is to read', async () => {
    service.script(dies);

    const error = await clientWith().workspace(7).orders.cancel(1, 9).catch((thrown: unknown) => thrown); // prettier-ignore

    expect(error).toBeInstanceOf(OutcomeUnknownError);
    expect(error).toMatchObject({ idempotencyKey: undefined, message: expect.stringMatching(/Read how things stand\.$/) });
  }); // prettier-ignore
});

describe('Given a payment that was certainly not carried out', () => {
  it.each([
    ['refused', [refuses(422, 'insufficient_funds')], RemoteRefusal],
    ['unavailable every time', [busy], RemoteRefusal],
    ['turned away for its rate every time', [refuses(429, 'rate_limited', { 'Retry-After': '0' })], RemoteRefusal],
    ['redirected', [(response) => response.writeHead(308, { Location: '/x' }).end()], ServiceError],
  ] as const satisfies readonly (readonly [string, readonly Step[], unknown])[])(
    'When it is %s, Then the error is that refusal, and no doubt is left',
    async (_, steps, kind) => {
      service.script(...steps);

      expect(await place()).toBeInstanceOf(kind);
    },
  ); // prettier-ignore

  it('When the token function fails as if it were the service, Then the error is its own, and it is asked once', async () => {
    let asked = 0;
    const failure = Object.assign(new Error('the issuer is closed'), { status: 503 });

    expect(await place({ token: () => Promise.reject((asked += 1) && failure) })).toBe(failure);
    expect([asked, service.asked]).toEqual([1, []]);
  });

  it('When what sends has refused to, Then the error is its refusal', async () => {
    const open = new Refusal('unavailable', 'The circuit is open.', { retryAfterSeconds: 60 });

    expect(await place({ fetch: () => Promise.reject(open) })).toBe(open);
  });

  it.each([
    ['the signature', { signer: () => new Promise<never>(() => {}) }],
    ['the token', { token: () => new Promise<never>(() => {}) }],
  ])('When %s does not come in time, Then the error says that nothing was sent', async (_, options) => {
    expect(await place({ ...options, timeoutMs: 50 })).toMatchObject({ name: 'ConnectionError', timedOut: true, neverSent: true }); // prettier-ignore
    expect(service.asked).toEqual([]);
  });

  it('When nobody listens, Then the error says that nothing was sent', async () => {
    await service.close();

    const error = await place();

    expect(error).toBeInstanceOf(ConnectionError);
    expect(error).toMatchObject({ neverSent: true });
  });

  it('When the caller has given up before, Then nothing is sent, and the error is theirs', async () => {
    const reason = new Error('too late');

    expect(await place({}, { signal: AbortSignal.abort(reason) })).toBe(reason);
    expect(service.asked).toEqual([]);
  });
});

describe('Given a fetch that does not heed its signal', () => {
  it('When it never comes back, Then the call ends in time all the same', async () => {
    const error = await place({ fetch: () => new Promise<never>(() => {}), timeoutMs: 50 });

    expect(error).toMatchObject({ name: 'OutcomeUnknownError', cause: { timedOut: true } });
  });
});

describe('Given a read that its caller gives up', () => {
  it('When it is on its way, Then the error is theirs', async () => {
    const giveUp = new AbortController();
    const reason = new Error('the page is closed');
    service.script(() => giveUp.abort(reason));

    await expect(clientWith().listApps({}, { signal: giveUp.signal })).rejects.toBe(reason);
  });

  it('When it waits for another try, Then it waits no longer', async () => {
    const giveUp = new AbortController();
    const reason = new Error('the page is closed');
    service.script(refuses(503, 'unavailable', { 'Retry-After': '5' }));
    const client = clientWith({ hooks: { retry: () => giveUp.abort(reason) } });

    await expect(client.listApps({}, { signal: giveUp.signal })).rejects.toBe(reason);
  });

  it('When a signal outlives many calls, Then none of them goes on listening to it', async () => {
    const { signal, most, listeners } = heard(new AbortController().signal);

    for (let call = 0; call < 3; call += 1) await clientWith().listApps({}, { signal });

    expect(most()).toBe(1);
    expect(listeners()).toBe(0);
  });

  it('When many reads are under one signal, Then they share one listener, and all end with it', async () => {
    const giveUp = new AbortController();
    const { signal, most, listeners } = heard(giveUp.signal);
    const reason = new Error('the service stops');
    service.script(hangs);
    const client = clientWith();

    const reads = Array.from({ length: 20 }, () => client.listApps({}, { signal }).catch((error: unknown) => error));
    giveUp.abort(reason);

    expect(await Promise.all(reads)).toEqual(reads.map(() => reason));
    expect(most()).toBe(1);
    expect(listeners()).toBe(0);
  });
});

/** A signal that counts who listens to it. */
function heard(signal: AbortSignal) {
  let listeners = 0;
  let most = 0;
  return {
    signal: Object.assign(signal, {
      addEventListener: (...heard: Parameters<AbortSignal['addEventListener']>) => {
        listeners += 1;
        most = Math.max(most, listeners);
        AbortSignal.prototype.addEventListener.apply(signal, heard);
      },
      removeEventListener: (...heard: Parameters<AbortSignal['removeEventListener']>) => {
        listeners -= 1;
        AbortSignal.prototype.removeEventListener.apply(signal, heard);
      },
    }),
    most: () => most,
    listeners: () => listeners,
  };
}

/** Gives something for the first try, and fails for the others as a library of HTTP would. */
function ofTries<T>(give: () => T): () => Promise<T> {
  let asked = 0;
  return () => ((asked += 1) === 1 ? Promise.resolve(give()) : Promise.reject(Object.assign(new Error('unprocessable'), { status: 422 }))); // prettier-ignore
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
