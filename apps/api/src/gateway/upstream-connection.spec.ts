import { once } from 'node:events';
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import * as fc from 'fast-check';
import { Agent } from 'undici';
import { RemoteBankingService } from '@banking/client';
import type { Refusal, TransferId, UserId, WorkspaceId } from '@banking/domain';
import { until } from '@banking/postgres/testing';
import { circuitChannel, upstreamChannel } from '@banking/telemetry';
import { gatewayOf, READ, refused, scriptedGateway, scriptedUpstream } from './testing/gateway.js';
import {
  CONCURRENT_MAX,
  exchange,
  RequestQueue,
  type TraceContextSource,
  UpstreamConnection,
} from './upstream-connection.js';

describe('an exchange', () => {
  let agent: Agent;
  let server: Server;
  let respond: RequestListener;

  beforeAll(async () => {
    server = createServer((request, response) => respond(request, response));
    await once(server.listen(0, '127.0.0.1'), 'listening');
  });
  afterAll(() => server.close());
  beforeEach(() => (agent = new Agent({ connections: 1, maxResponseSize: 1_000 })));
  afterEach(() => agent.destroy());

  function send(signal = new AbortController().signal, path = '/a?b=c', body?: string) {
    const url = new URL(path, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    return exchange(agent, url, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { 'x-sent': 'yes' },
      body,
      signal,
    });
  }

  const textOf = ({ bytes }: { readonly bytes: ArrayBuffer }) => Buffer.from(bytes).toString();

  it('sends the request and returns the whole response', async () => {
    respond = (request, response) => {
      response.writeHead(201, { 'x-one': '1', 'set-cookie': ['a', 'b'] });
      response.write(`${request.method} ${request.url} ${String(request.headers['x-sent'])} `);
      request.once('data', (chunk: Buffer) => response.end(`${chunk.toString()} é`));
    };

    const response = await send(undefined, undefined, 'body');

    expect(textOf(response)).toBe('POST /a?b=c yes body é');
    expect(response).toMatchObject({ status: 201, headers: { 'x-one': '1', 'set-cookie': ['a', 'b'] } });
  });

  it('ignores an informational response', async () => {
    respond = (_request, response) => response.writeEarlyHints({ link: '</a>' }, () => response.end('done'));

    const response = await send();

    expect([response.status, response.headers['link'], textOf(response)]).toEqual([200, undefined, 'done']);
  });

  it('returns an empty body', async () => {
    respond = (_request, response) => response.writeHead(204).end();

    expect(await send()).toMatchObject({ status: 204, bytes: new ArrayBuffer(0) });
  });

  it('fails if the connection ends within the body', async () => {
    respond = (_request, response) => {
      response.writeHead(200, { 'content-length': 10 }).write('half', () => response.destroy());
    };

    await expect(send()).rejects.toMatchObject({ code: 'UND_ERR_SOCKET' });
  });

  it('fails if the response is too large', async () => {
    respond = (_request, response) => response.end('a'.repeat(1_001));

    await expect(send()).rejects.toMatchObject({ code: 'UND_ERR_RES_EXCEEDED_MAX_SIZE' });
  });

  it('fails with the reason of its signal before it is sent', async () => {
    respond = jest.fn();

    await expect(send(AbortSignal.abort('left'))).rejects.toBe('left');
    expect(respond).not.toHaveBeenCalled();
  });

  it('fails with the reason of its signal during the response, and closes the connection', async () => {
    const controller = new AbortController();
    const closed = new Promise<void>((resolve) => {
      respond = (_request, response) => {
        response.once('close', resolve);
        response.write('half', () => controller.abort(new Error('left')));
      };
    });

    await expect(send(controller.signal)).rejects.toThrow('left');
    await closed;
  });

  it('is not sent if it is aborted while it waits for a connection', async () => {
    const controller = new AbortController();
    const requested: (string | undefined)[] = [];
    let finish: () => void = () => undefined;
    const begun = new Promise<void>((resolve) => {
      respond = (request, response) => {
        requested.push(request.url);
        finish = () => response.end('first');
        resolve();
      };
    });
    const first = send();
    await begun;
    const second = send(controller.signal, '/second');
    controller.abort(new Error('left'));
    finish();

    expect(textOf(await first)).toBe('first');
    await expect(second).rejects.toThrow('left');
    expect(requested).toEqual(['/a?b=c']);
  });
});

describe('RequestQueue', () => {
  const WAIT_MAX_MS = 2_000;
  const PAUSE_MS = 1_000;
  const HOSTILE = 1;
  const POLITE = 2;
  const range = (length: number) => Array.from({ length }, (_, index) => index);

  /** A queue to an upstream whose responses the spec triggers. */
  function queueTo() {
    const queue = new RequestQueue(WAIT_MAX_MS);
    /** How to respond to each request that was sent and has no response. */
    const sent: { readonly actor: number; readonly hasWaited: boolean; answer(): void }[] = [];
    const ended: { readonly actor: number; readonly how: string }[] = [];
    let started = 0;
    const send = (actor: number, limitKey = 'reads', signal = new AbortController().signal) => {
      const begin = (hasWaited: boolean) =>
        new Promise<void>((answer) => {
          started += 1;
          sent.push({ actor, hasWaited, answer });
        });
      return queue.run({ actor: actor as UserId, limitKey }, signal, begin).then(
        () => void ended.push({ actor, how: 'answered' }),
        ({ reason, retryAfterSeconds }: Refusal) => void ended.push({ actor, how: `${reason} ${retryAfterSeconds}` }),
      );
    };
    const countOf = (list: readonly { readonly actor: number }[], actor: number) =>
      list.filter((one) => one.actor === actor).length;
    return {
      queue,
      send,
      sent,
      ended,
      get started() {
        return started;
      },
      sentBy: (actor: number) => countOf(sent, actor),
      endedBy: (actor: number, how: string) =>
        countOf(
          ended.filter((one) => one.how === how),
          actor,
        ),
      /** Responds to the request that was sent at this position, and waits until that has taken effect. */
      async answer(at = 0): Promise<void> {
        sent.splice(at, 1)[0]?.answer();
        await settled();
      },
    };
  }

  /** Waits until all settled promises have taken effect. */
  const settled = () => new Promise((resolve) => setImmediate(resolve));

  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask', 'performance'] });
  });
  afterEach(() => jest.useRealTimers());

  it('gives one caller at most half of the slots for running and for waiting', async () => {
    const { send, sentBy, endedBy } = queueTo();
    for (let turn = 0; turn < 1_000; turn += 1) void send(HOSTILE);
    await settled();

    expect(sentBy(HOSTILE)).toBe(CONCURRENT_MAX / 2);
    expect(endedBy(HOSTILE, 'rate_limited 1')).toBe(1_000 - 32 - 128);
  });

  it('sends a request at once while another caller has a thousand in the queue', async () => {
    const { send, sentBy } = queueTo();
    for (let turn = 0; turn < 1_000; turn += 1) void send(HOSTILE);
    void send(POLITE);
    await settled();

    expect(sentBy(POLITE)).toBe(1);
  });

  it('never sends more requests than there are connections', async () => {
    const { send, sent } = queueTo();
    for (const actor of range(300)) for (let turn = 0; turn < 5; turn += 1) void send(actor);
    await settled();

    expect(sent).toHaveLength(CONCURRENT_MAX);
  });

  it('sends one request of each caller before a second one of any', async () => {
    const batches = fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 2, maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(batches, async (wanted) => {
        const { send, sent, answer } = queueTo();
        for (const actor of range(CONCURRENT_MAX)) void send(1_000 + actor);
        wanted.forEach((requests, actor) => range(requests).forEach(() => void send(actor)));
        await settled();
        const turns = wanted.flatMap((requests, actor) => range(requests).map((turn) => ({ actor, turn })));
        const inTurn = turns.sort((one, other) => one.turn - other.turn || one.actor - other.actor);

        // One connection becomes free repeatedly.
        await answer(0);
        const order: (number | undefined)[] = [];
        for (let turn = 0; turn < turns.length; turn += 1) {
          order.push(sent.at(-1)?.actor);
          await answer(sent.length - 1);
        }
        expect(order).toEqual(inTurn.map(({ actor }) => actor));
      }),
      { numRuns: 50 },
    );
  });

  it('delays another caller by one response at most when all connections are in use', async () => {
    const { send, sentBy, answer } = queueTo();
    for (const actor of range(CONCURRENT_MAX)) void send(10 + actor);
    for (const actor of range(5)) for (let turn = 0; turn < 100; turn += 1) void send(10 + actor);
    void send(POLITE);
    await settled();
    expect(sentBy(POLITE)).toBe(0);

    // Five callers are before it, with one request each.
    for (let turn = 0; turn < 6; turn += 1) await answer();
    expect(sentBy(POLITE)).toBe(1);
  });

  it('refuses a request that waited too long, and does not send it later', async () => {
    const seen = queueTo();
    for (let turn = 0; turn < 40; turn += 1) void seen.send(HOSTILE);
    await settled();
    expect(seen.endedBy(HOSTILE, 'unavailable 1')).toBe(0);
    jest.advanceTimersByTime(WAIT_MAX_MS);
    await settled();
    expect(seen.endedBy(HOSTILE, 'unavailable 1')).toBe(8);

    while (seen.sent.length > 0) await seen.answer();
    expect(seen.started).toBe(32);
    expect(seen.endedBy(HOSTILE, 'answered')).toBe(32);
  });

  it('removes a waiting request whose caller aborts, and frees its slot', async () => {
    const seen = queueTo();
    const gone = new AbortController();
    for (let turn = 0; turn < 32; turn += 1) void seen.send(HOSTILE);
    for (let turn = 0; turn < 128; turn += 1) void seen.send(HOSTILE, 'reads', gone.signal);
    void seen.send(HOSTILE);
    await settled();
    expect(seen.endedBy(HOSTILE, 'rate_limited 1')).toBe(1);
    gone.abort();
    await settled();
    expect(seen.endedBy(HOSTILE, 'unavailable 1')).toBe(128);

    void seen.send(HOSTILE);
    await settled();
    expect(seen.endedBy(HOSTILE, 'rate_limited 1')).toBe(1);
    while (seen.sent.length > 0) await seen.answer();
    expect(seen.started).toBe(33);
  });

  it('reports for each request whether it waited', async () => {
    const { send, sent, answer } = queueTo();
    for (let turn = 0; turn < 33; turn += 1) void send(HOSTILE);
    await settled();
    await answer();

    expect(sent.map(({ hasWaited }) => hasWaited)).toEqual([...range(31).map(() => false), true]);
  });

  it('frees the slot of a request that fails', async () => {
    const queue = new RequestQueue(WAIT_MAX_MS);
    const { signal } = new AbortController();
    const fail = () =>
      queue.run({ actor: 1 as UserId, limitKey: '' }, signal, () => Promise.reject(new Error('broken')));
    for (let turn = 0; turn < 100; turn += 1) await expect(fail()).rejects.toThrow('broken');
  });

  it('pauses only the requests of a rate-limited key, for a second, and then continues round-robin', async () => {
    const { queue, send, sent, sentBy } = queueTo();
    queue.pause('reads');
    for (let turn = 0; turn < 100; turn += 1) void send(HOSTILE);
    for (let turn = 0; turn < 2; turn += 1) void send(POLITE);
    void send(HOSTILE, 'changes');
    await settled();
    expect([sentBy(HOSTILE), sentBy(POLITE)]).toEqual([1, 0]);

    jest.advanceTimersByTime(PAUSE_MS - 1);
    queue.pause('reads');
    await settled();
    expect(sent).toHaveLength(1);
    jest.advanceTimersByTime(1);
    await settled();
    expect(sent.slice(1, 5).map(({ actor }) => actor)).toEqual([HOSTILE, POLITE, HOSTILE, POLITE]);
  });

  it('holds requests for a second and until the work with precedence ends, even if it fails', async () => {
    const { queue, send, sent } = queueTo();
    let end: (error?: Error) => void = () => undefined;
    let hasBegun: boolean;
    const work = () => {
      hasBegun = true;
      return new Promise<void>((resolve, reject) => (end = (error) => (error ? reject(error) : resolve())));
    };
    for (const error of [undefined, new Error('no')]) {
      hasBegun = false;
      const held = queue.holdDuring(work).catch((thrown: Error) => thrown.message);
      void send(POLITE);
      jest.advanceTimersByTime(PAUSE_MS - 1);
      await settled();
      expect([hasBegun, sent.length]).toEqual([false, 0]);
      jest.advanceTimersByTime(1);
      await settled();
      expect([hasBegun, sent.length]).toEqual([true, 0]);
      end(error);
      expect(await held).toBe(error?.message);
      await settled();
      expect(sent).toHaveLength(1);
      sent.pop()?.answer();
      await settled();
    }
  });
});

describe('concurrent callers', () => {
  const range = (length: number) => Array.from({ length }, (_, index) => index);
  const emailOf = (id: number) => `user-${id}@bank.example`;
  const HOSTILE = emailOf(1);
  const POLITE = emailOf(2);

  /** An admin of workspace 1. */
  const admin = (id: number) => ({
    id,
    email: emailOf(id),
    edges: { roles: [{ id, role: 'admin', edges: { workspace: { id: 1, name: 'Bank' } } }] },
  });
  const listOf = (count: number) => range(count).map((index) => admin(index + 1));
  const LIMITED = { status: 429, body: { errorCode: 'rate_limited', message: 'No.' }, headers: { 'retry-after': '1' } };

  let upstream: Awaited<ReturnType<typeof scriptedUpstream>>;
  let gateway: Awaited<ReturnType<typeof gatewayOf>>;
  beforeAll(async () => {
    upstream = await scriptedUpstream();
  });
  afterAll(() => upstream.close());
  beforeEach(async () => {
    upstream.reset();
    upstream.says('GET /apps/1/users', { status: 200, body: listOf(70) });
    gateway = await gatewayOf(upstream.url);
  });
  afterEach(() => gateway.close());

  const get = (path: string, email: string) => gateway.send(`GET ${path}`, {}, email);
  const reasonOf = async (response: Response) => ((await response.json()) as { reason?: string }).reason;
  const received = (path: string) => upstream.received.filter((request) => request.path === path).length;

  /** The spec triggers the responses to this path. */
  function holding(path: string) {
    const held: ServerResponse[] = [];
    let isHolding = true;
    const answer = (response: ServerResponse) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end('[]');
    upstream.says(`GET ${path}`, (_, response) => {
      if (!isHolding) return void answer(response);
      held.push(response);
    });
    return {
      held,
      /** Responds to all held requests, and to later ones at once. */
      release(): void {
        isHolding = false;
        held.forEach(answer);
      },
    };
  }

  describe('one caller who sends hundreds of requests at once', () => {
    it('does not delay another caller, and is refused', async () => {
      const { held, release } = holding('/transfers');
      upstream.says('GET /accounts', { status: 200, body: [] });
      const flood = range(300).map(() => get('/transfers', HOSTILE));
      await until(() => held.length >= 32);

      for (const path of ['/accounts', '/apps', '/apps/1/users', '/accounts']) {
        expect([path, (await get(path, POLITE)).status]).toEqual([path, 200]);
      }
      expect(held).toHaveLength(32);
      release();
      const responses = await Promise.all(flood);
      const refused = responses.filter(({ status }) => status !== 200);
      expect(responses.length - refused.length).toBeGreaterThanOrEqual(32);
      expect(refused.length).toBeGreaterThan(0);
      // On a busy machine, the first have waited for two seconds, and get 503, before the queue is full.
      for (const { status, headers } of refused) {
        expect([429, 503]).toContain(status);
        expect(headers.get('retry-after')).toBe('1');
      }
    });

    it('does not open the circuit for other callers with a 429 of the upstream', async () => {
      upstream.says('GET /transfers', LIMITED);
      upstream.says('GET /accounts', { status: 200, body: [] });
      const limited = await Promise.all(range(20).map(() => get('/transfers', HOSTILE)));
      expect(new Set(limited.map(({ status }) => status))).toEqual(new Set([429]));

      expect((await get('/accounts', POLITE)).status).toBe(200);
      expect(gateway.lines.some(({ level }) => level === 'error')).toBe(false);
    });

    it('does not open the circuit for other callers with the 503 that the upstream gives its workspace', async () => {
      upstream.says('GET /transfers', refused(503, 'unavailable'));
      upstream.says('GET /accounts', { status: 200, body: [] });
      const refusals = await Promise.all(range(20).map(() => get('/transfers', HOSTILE)));
      expect(new Set(refusals.map(({ status }) => status))).toEqual(new Set([503]));

      expect((await get('/accounts', POLITE)).status).toBe(200);
    });

    it('does not cause more reads of the user lists', async () => {
      for (const path of ['/apps/1/users', '/apps/2/users']) {
        for (let turn = 0; turn < 5; turn += 1) await Promise.all(range(20).map(() => get(path, HOSTILE)));
      }

      expect(await reasonOf(await get('/apps/2/users', HOSTILE))).toBe('app_not_found');
      // The users of an app that is not listed are not read.
      expect(received('/apps/2/users')).toBe(0);
      expect(received('/apps/1/users')).toBe(received('/apps'));
      expect(received('/apps')).toBeLessThan(50);
    });
  });

  describe('callers who use every connection', () => {
    it('do not prevent the read of the user lists for a new user', async () => {
      const { held, release } = holding('/transfers');
      const asked = range(64).map((index) => get('/transfers', emailOf(index + 1)));
      await until(() => held.length >= 64);

      upstream.says('GET /apps/1/users', { status: 200, body: listOf(71) });
      // The lists are read once a second at most.
      await until(
        () => get('/apps', emailOf(71)),
        ({ status }) => status === 200,
      );

      release();
      expect((await Promise.all(asked)).map((answer) => answer.status)).toEqual(range(64).map(() => 200));
    });
  });
});

describe('the channels of a gateway', () => {
  let gateway: Awaited<ReturnType<typeof scriptedGateway>>;
  let messages: Record<string, unknown>[];
  const listen = (message: unknown) => void messages.push({ ...(message as object) });

  beforeAll(async () => {
    gateway = await scriptedGateway();
  });
  beforeEach(async () => {
    await gateway.reset();
    messages = [];
    upstreamChannel.asyncEnd.subscribe(listen);
    circuitChannel.subscribe(listen);
  });
  afterEach(() => {
    upstreamChannel.asyncEnd.unsubscribe(listen);
    circuitChannel.unsubscribe(listen);
  });
  afterAll(() => gateway.close());

  it('publish a request to the upstream with its operation and status, and no address', async () => {
    await gateway.responseTo(READ, refused(404, 'transfer_not_found'));

    expect(messages).toMatchObject([
      { operation: 'getTransfer', method: 'GET', isOfCaller: true, result: { status: 404 } },
    ]);
    expect(Object.keys(messages[0]!).sort()).toEqual(['isOfCaller', 'method', 'operation', 'result']);
  });

  it('publish that the circuit opens', async () => {
    for (let failures = 0; failures < 5; failures += 1) {
      await gateway.responseTo(READ, ({ socket }) => socket.destroy());
    }

    expect(messages.filter(({ state }) => state !== undefined)).toEqual([{ state: 'open' }]);
  });
});

describe('the requests of a gateway to its upstream', () => {
  const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00';
  const scope = { workspaceId: 1 as WorkspaceId, actor: 1 as UserId, requestId: 'job-17' };

  let upstream: Awaited<ReturnType<typeof scriptedUpstream>>;
  beforeAll(async () => {
    upstream = await scriptedUpstream();
    upstream.says('GET /transfers/42', { status: 200, body: { id: 42, amount: '5', edges: {} } });
  });
  afterAll(() => upstream.close());

  async function headersWith(traceContext?: TraceContextSource) {
    const log = { error: () => undefined, info: () => undefined };
    const connection = new UpstreamConnection(5_000, log, traceContext);
    const client = new RemoteBankingService({ baseUrl: upstream.url, token: 'ours', fetch: connection.transport });
    await client.getTransfer(scope, { transferId: 42 as TransferId });
    await connection.close();
    return upstream.received.at(-1)?.headers;
  }

  it('carry the trace context of the request that they are for', async () => {
    const asked: (string | undefined)[] = [];
    const source: TraceContextSource = (requestId) => {
      asked.push(requestId);
      return { traceparent: TRACEPARENT, tracestate: 'a=1' };
    };

    expect(await headersWith(source)).toMatchObject({ traceparent: TRACEPARENT, tracestate: 'a=1' });
    expect(asked).toEqual(['job-17']);
  });

  it('carry none without traces', async () => {
    const headers = await headersWith();

    expect([headers?.['traceparent'], headers?.['tracestate']]).toEqual([undefined, undefined]);
  });
});
