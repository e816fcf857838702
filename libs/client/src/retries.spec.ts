import * as fc from 'fast-check';
import { type OpenAccountInput, Refusal } from '@banking/domain';
import { BankingClient, type BankingClientOptions, ConnectionError, type Retry, ServiceError } from './index.js';
import { pauseMs } from './retry-policy.js';
import {
  responds,
  dies,
  hangs,
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

const clientWith = (options: Partial<BankingClientOptions> = {}) =>
  new BankingClient({ baseUrl: service.url, token: 'token', ...options });

const ALIAS: OpenAccountInput = { productID: 1, alias: 'Rent' };
const made = responds(201, { id: 5 });
const open = (client: BankingClient, options = {}) => client.workspace(7).accounts.open(ALIAS, options);
const read = (client: BankingClient, options = {}) => client.workspace(7).accounts.get(5, options);
const rename = (client: BankingClient) => client.workspace(7).accounts.change(5, { alias: 'Rent' });

const PASSING: readonly (readonly [string, Step])[] = [
  ['the connection dies', dies],
  ['it is a 500', refuses(500, 'internal_error')],
  ['a 502 of a proxy', (response) => response.writeHead(502).end('<h1>Bad gateway</h1>')],
  ['it is unavailable', refuses(503, 'unavailable', { 'Retry-After': '0' })],
  ['a 503 of a proxy', (response) => response.writeHead(503).end('<h1>Unavailable</h1>')],
  ['it is a 504', refuses(504, 'no_word_of_ours')],
  ['the service does not know the outcome', refuses(504, 'outcome_unknown', { 'Retry-After': '0' })],
  ['the request came too slowly', refuses(408, 'request_timeout')],
  ['it is rejected for its rate', refuses(429, 'rate_limited', { 'Retry-After': '0' })],
];

describe('retry after a transient failure', () => {
  it.each(PASSING)('retries a read after %s', async (_, step) => {
    service.script(step, responds(200, { id: 5 }));

    expect(await read(clientWith())).toMatchObject({ id: 5 });
    expect(service.received).toHaveLength(2);
  });

  it.each([
    ...PASSING,
    ['an earlier try still runs', refuses(409, 'idempotency_in_progress', { 'Retry-After': '0' })] as const,
  ])('retries a creation with the same body and key after %s', async (_, step) => {
    service.script(step, step, made);

    const { resource, idempotencyKey } = await open(clientWith());

    expect(resource).toMatchObject({ id: 5 });
    expect(service.received).toHaveLength(3);
    expect(new Set(service.received.map(({ body }) => body))).toEqual(new Set([JSON.stringify(ALIAS)]));
    expect(new Set(service.received.map(({ headers }) => headers['idempotency-key']))).toEqual(
      new Set([idempotencyKey]),
    );
  });

  it('sends the original body if the caller changes its object meanwhile', async () => {
    const input = { ...ALIAS };
    service.script(dies, made);

    const opened = clientWith().workspace(7).accounts.open(input);
    Object.assign(input, { alias: 'Holiday' });
    await opened;

    expect(service.received.map(({ body }) => body)).toEqual(Array(2).fill(JSON.stringify(ALIAS)));
  });

  it.each([null, NaN, 17, {}, '', 'a b'])('refuses the key %p before sending', async (idempotencyKey) => {
    await expect(open(clientWith(), { idempotencyKey })).rejects.toMatchObject({ reason: 'idempotency_key_invalid' });
    expect(service.received).toEqual([]);
  });

  it('sends the key of the caller', async () => {
    service.script(dies, made);

    expect(await open(clientWith(), { idempotencyKey: 'rent-2026' })).toMatchObject({ idempotencyKey: 'rent-2026' });
    expect(service.received.map(({ headers }) => headers['idempotency-key'])).toEqual(['rent-2026', 'rent-2026']);
  });

  it('generates another key for a second call', async () => {
    service.script(made);
    const client = clientWith();

    const keys = [await open(client), await open(client)].map(({ idempotencyKey }) => idempotencyKey);

    expect(new Set(keys).size).toBe(2);
    expect(keys.every((key) => /^[0-9a-f]{32}$/.test(key))).toBe(true);
  });

  it.each([
    ['rejected for its rate', refuses(429, 'rate_limited', { 'Retry-After': '0' })],
    ['unavailable', refuses(503, 'unavailable', { 'Retry-After': '0' })],
  ])('retries a change without a key if it is %s', async (_, step) => {
    service.script(step, responds(200, { id: 5 }));

    expect(await rename(clientWith())).toMatchObject({ id: 5 });
  });

  it.each(PASSING.filter(([what]) => !['it is unavailable', 'it is rejected for its rate'].includes(what)))(
    'does not retry a change without a key after %s',
    async (_, step) => {
      service.script(step, responds(200, { id: 5 }));

      await expect(rename(clientWith())).rejects.toThrow();
      expect(service.received).toHaveLength(1);
    },
  );

  it.each([
    ['a refusal of the business', refuses(422, 'insufficient_funds')],
    ['one of the shape', refuses(400, 'body_malformed')],
    ['one of a key that was used', refuses(422, 'idempotency_key_reused')],
    ['a word from tomorrow', refuses(418, 'not_a_teapot')],
    ['a redirect', (response) => response.writeHead(307, { Location: '/elsewhere' }).end()],
    ['a page of HTML', (response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end('<p>Hello')],
  ] as const satisfies readonly (readonly [string, Step])[])('does not retry after %s', async (_, step) => {
    service.script(step, made);

    await expect(open(clientWith())).rejects.toThrow();
    expect(service.received).toHaveLength(1);
  });

  it('retries a change without a key after a refused connection', async () => {
    const retries: Retry[] = [];
    await service.close();
    const client = clientWith({ hooks: { retry: (retry) => retries.push(retry) } });

    const error = await rename(client).catch((thrown: unknown) => thrown);

    expect(error).toBeInstanceOf(ConnectionError);
    expect(error).toMatchObject({ neverSent: true, timedOut: false });
    expect(retries.map(({ attempt }) => attempt)).toEqual([2, 3]);
  });
});

describe('retry after repeated failures', () => {
  it.each([0, 1, 3])('retries %i times', async (retries) => {
    service.script(refuses(503, 'unavailable', { 'Retry-After': '0' }));

    const error = await read(clientWith({ retries })).catch((thrown: unknown) => thrown);

    expect(error).toBeInstanceOf(Refusal);
    expect(service.received).toHaveLength(retries + 1);
  });

  it('does not retry if Retry-After is beyond the deadline', async () => {
    service.script(refuses(503, 'unavailable', { 'Retry-After': '11' }));

    await expect(read(clientWith())).rejects.toMatchObject({ reason: 'unavailable', retryAfterSeconds: 11 });
    expect(service.received).toHaveLength(1);
  });

  it('waits at least for Retry-After', async () => {
    const retries: Retry[] = [];
    service.script(refuses(429, 'rate_limited', { 'Retry-After': '1' }), responds(200, { id: 5 }));

    await read(clientWith({ hooks: { retry: (retry) => retries.push(retry) } }));

    expect(retries).toMatchObject([{ attempt: 2, error: { reason: 'rate_limited' } }]);
    expect(retries[0]?.pauseMs).toBeGreaterThanOrEqual(1_000);
  });

  it('does not start an attempt after the deadline', async () => {
    service.script(dies, hangs);

    const error = await read(clientWith({ timeoutMs: 1_000 })).catch((thrown: unknown) => thrown);

    expect(error).toMatchObject({ name: 'ConnectionError', timedOut: true });
    expect(service.received).toHaveLength(2);
  });

  it.each([-1, 1.5, 11, NaN])('refuses %p retries', (retries) => {
    expect(() => clientWith({ retries })).toThrow(TypeError);
  });
});

describe('pause before a retry', () => {
  const tries = fc.integer({ min: 1, max: 10 });
  const random = fc.double({ min: 0, max: 1, noNaN: true });

  it('is at least Retry-After, plus a bounded jitter', () => {
    fc.assert(
      fc.property(tries, random, fc.nat(100), (count, drawn, retryAfterSeconds) => {
        const pause = pauseMs(count, { retryAfterSeconds }, drawn) - retryAfterSeconds * 1000;
        const longest = Math.min(5_000, 200 * 2 ** (count - 1));
        return pause >= Math.floor(longest / 2) && pause <= longest;
      }),
    );
  });
});

describe('iteration over a list', () => {
  const page = (items: unknown[], next?: string) =>
    responds(200, items, next === undefined ? {} : { Link: `</accounts?limit=2&cursor=${next}>; rel="next"` });

  it('requests each page once, when it is reached', async () => {
    service.script(page([{ id: 3 }, { id: 2 }], 'two'), dies, page([{ id: 1 }]));
    const seen: number[] = [];

    for await (const { id } of clientWith().workspace(7).accounts.list({ limit: 2 })) {
      if (seen.length === 0) expect(service.received).toHaveLength(1);
      seen.push(id);
    }

    expect(seen).toEqual([3, 2, 1]);
    expect(service.received.map(({ url }) => url)).toEqual([
      '/accounts?limit=2',
      ...Array(2).fill('/accounts?limit=2&cursor=two'),
    ]);
  });

  it('requests nothing after an early end', async () => {
    service.script(page([{ id: 3 }, { id: 2 }], 'two'));

    for await (const account of clientWith().workspace(7).accounts.list()) {
      if (account.id === 3) break;
    }

    expect(service.received).toHaveLength(1);
  });

  it.each([
    ['itself', ['a']],
    ['the one before it', ['a', 'b']],
    ['one of long ago', ['a', 'b', 'c', 'd', 'e', 'f', 'g']],
  ])('ends with an error if a cursor leads back to %s', async (_, cursors) => {
    let requests = 0;
    const circle: Step = (response, request) =>
      page([{ id: 1 }], cursors[requests++ % cursors.length])(response, request);
    service.script(circle);

    const walk = async () => {
      for await (const account of clientWith().workspace(7).accounts.list()) expect(account.id).toBe(1);
    };

    await expect(walk()).rejects.toThrow(ServiceError);
  });
});
