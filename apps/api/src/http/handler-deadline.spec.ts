import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { Controller, Delete, Get, Module, Patch, Post } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import {
  type AppId,
  Directory,
  type DirectoryUser,
  type RequestOptions,
  type Subject,
  type UserId,
  type WorkspaceId,
} from '@banking/domain';
import { CommitInDoubtError } from '@banking/postgres';
import { AccessCheck, CalledBy, type Caller } from '../access/access-check.js';
import { RoleLookup } from '../access/role-lookup.js';
import { Operation } from '../access/operation.decorator.js';
import { RateLimit } from '../access/rate-limit.js';
import { RequestOptionsOf } from '../input/creation.js';
import { boundHandlers } from './handler-deadline.js';
import { RefusalFilter } from './refusal.filter.js';
import type {} from './request-log.js';

describe('boundHandlers', () => {
  it('responds without a slow handler, and ignores its later result', async () => {
    const server = fastify();
    boundHandlers(server, { withdrawAfterMs: 1, respondAfterMs: 1, checkEveryMs: 1 });
    let finish: (word: string) => void = () => undefined;
    const ended = new Promise<string>((resolve) => (finish = resolve));
    server.get('/', () => ended);

    const answer = await server.inject('/');
    finish('too late');
    await server.close();

    expect(answer.json()).toMatchObject({ message: 'The response took too long.' });
  });

  it('sends no second response if one has begun', async () => {
    const server = fastify();
    const limits = { withdrawAfterMs: Infinity, respondAfterMs: Infinity, checkEveryMs: 1 };
    boundHandlers(server, limits);
    const checked = new Promise<void>((resolve) => {
      server.get('/', (_request, reply) => {
        const body = new Readable({ read: () => undefined });
        body.push('the first part');
        jest.spyOn(reply, 'send');
        void reply.send(body);
        // Read by the check, which is then past the reply that is older.
        Object.defineProperty(reply, 'elapsedTime', { get: () => (queueMicrotask(resolve), Infinity) });
        replies.push(reply);
        return reply;
      });
    });
    const replies: FastifyReply[] = [];
    await server.listen({ port: 0, host: '127.0.0.1' });
    const { port } = server.server.address() as AddressInfo;
    const sent = request({ port, host: '127.0.0.1' });
    sent.end();

    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    await once(response, 'data');
    limits.respondAfterMs = 0;
    await checked;
    sent.on('error', () => undefined).destroy();
    server.server.closeAllConnections();
    await server.close();

    expect(replies[0]!.send).toHaveBeenCalledTimes(1);
  });

  it.each([
    ['has not arrived', '', 408],
    ['has arrived', '{}', 504],
  ])('responds to a change whose body %s (%j) with %i', async (_, body, status) => {
    const server = fastify();
    const limits = { withdrawAfterMs: Infinity, respondAfterMs: Infinity, checkEveryMs: 1 };
    boundHandlers(server, limits);
    server.addHook('onRequest', async (called) => {
      called.caller = {} as never;
      if (body === '') limits.respondAfterMs = 0;
    });
    server.post('/', () => {
      limits.respondAfterMs = 0;
      return new Promise(() => undefined);
    });
    await server.listen({ port: 0, host: '127.0.0.1' });
    const { port } = server.server.address() as AddressInfo;
    const headers = { 'content-type': 'application/json', 'content-length': '2' };
    const sent = request({ port, host: '127.0.0.1', method: 'POST', headers });
    sent.write(body);
    sent.flushHeaders();

    const [{ statusCode }] = (await once(sent, 'response')) as [IncomingMessage];
    sent.on('error', () => undefined).destroy();
    await server.close();

    expect(statusCode).toBe(status);
  });
});

describe('the signal of a request', () => {
  afterEach(() => void jest.useRealTimers());

  it('is that of the requests since the last check, and aborted once all of them are old enough', async () => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate', 'setTimeout'] });
    const server = fastify();
    boundHandlers(server, { withdrawAfterMs: 5_000, respondAfterMs: Infinity });
    const signals: (AbortSignal | undefined)[] = [];
    server.all('/', async (called: FastifyRequest) => void signals.push(called.deadline));
    const send = (method: 'GET' | 'POST') => server.inject({ method, url: '/' });
    const aborted = () => signals.map((signal) => signal?.aborted);

    await send('POST');
    jest.advanceTimersByTime(999);
    await send('POST');
    await send('GET');
    jest.advanceTimersByTime(1);
    await send('POST');
    const [first, second, ofRead, later] = signals;
    expect([second === first, ofRead, later === first]).toEqual([true, undefined, false]);

    jest.advanceTimersByTime(4_999);
    expect(aborted()).toEqual([false, false, undefined, false]);
    jest.advanceTimersByTime(1);
    expect(aborted()).toEqual([true, true, undefined, false]);
    expect(first!.reason).toMatchObject({ reason: 'unavailable' });
    jest.advanceTimersByTime(1_000);
    expect(aborted()).toEqual([true, true, undefined, true]);
    await server.close();
  });

  it('is aborted by the clock when it is asked before a timer runs, as after a pause of the process', async () => {
    const beginMs = performance.now();
    const clock = jest.spyOn(performance, 'now').mockReturnValue(beginMs);
    const server = fastify();
    boundHandlers(server, { withdrawAfterMs: 5_000, respondAfterMs: Infinity, checkEveryMs: 1_000_000 });
    let signal: AbortSignal | undefined;
    server.post('/', async ({ deadline }: FastifyRequest) => void (signal = deadline));
    await server.inject({ method: 'POST', url: '/' });
    const onAbort = jest.fn();
    signal!.addEventListener('abort', onAbort);

    clock.mockReturnValue(beginMs + 1_004_999);
    expect(signal!.aborted).toBe(false);
    clock.mockReturnValue(beginMs + 1_005_000);
    expect([signal!.aborted, signal!.aborted]).toEqual([true, true]);

    expect(onAbort).toHaveBeenCalledTimes(1);
    expect(signal!.reason).toMatchObject({ reason: 'unavailable' });
    clock.mockRestore();
    await server.close();
  });
});

describe('outcome unknown', () => {
  const text = { summary: 'A route', description: 'A route.', provenance: 'ours' } as const;

  type Work = (caller: Caller) => Promise<unknown>;

  /** The work of the next handler, and of the access check before it. */
  const script = { work: (async () => undefined) as Work, beforeAccess: async (): Promise<void> => undefined };

  @Controller()
  class Routes {
    @Post('accounts')
    @Operation('openAccount', text)
    create(@CalledBy() caller: Caller, @RequestOptionsOf() _intent: RequestOptions) {
      return script.work(caller);
    }

    @Patch('accounts')
    @Operation('changeAccount', text)
    change(@CalledBy() caller: Caller) {
      return script.work(caller);
    }

    @Delete('recipients')
    @Operation('deleteRecipient', text)
    remove(@CalledBy() caller: Caller) {
      return script.work(caller);
    }

    @Get('accounts')
    @Operation('listAccounts', text)
    list(@CalledBy() caller: Caller) {
      return script.work(caller);
    }
  }

  class OneUser extends Directory {
    async userOf(): Promise<DirectoryUser | undefined> {
      await script.beforeAccess();
      return {
        id: 1 as UserId,
        grants: [{ workspaceId: 7 as WorkspaceId, roles: ['admin', 'member'], appId: 1 as AppId }],
      };
    }
  }

  const verifier = { subjectOf: async (subject: string): Promise<Subject> => ({ issuer: 'test', subject }) };

  @Module({
    controllers: [Routes],
    providers: [{ provide: APP_FILTER, useClass: RefusalFilter }],
  })
  class RoutesModule {}

  const FOREVER = { withdrawAfterMs: Infinity, respondAfterMs: Infinity };

  let app: NestFastifyApplication;
  const limits = { ...FOREVER, checkEveryMs: 1 };
  const lines: unknown[][] = [];

  beforeAll(async () => {
    const adapter = new FastifyAdapter();
    const server = adapter.getInstance<FastifyInstance>();
    boundHandlers(server, limits);
    const access = new AccessCheck({ verifier, roles: new RoleLookup(new OneUser()), rateLimit: new RateLimit() });
    server.addHook('onRequest', (request, reply) => access.admit(request, reply));
    const built = await Test.createTestingModule({ imports: [RoutesModule] }).compile();
    const ignore = () => undefined;
    const logger = { log: ignore, error: ignore, warn: (...line: unknown[]) => void lines.push(line) };
    app = built.createNestApplication<NestFastifyApplication>(adapter, { logger });
    await app.init();
    await app.getHttpAdapter().getInstance().ready();
  });
  afterAll(() => app.close());
  beforeEach(() => {
    Object.assign(limits, FOREVER);
    lines.length = 0;
    script.beforeAccess = async () => undefined;
  });

  let subjects = 0;

  async function send(method: 'POST' | 'PATCH' | 'DELETE' | 'GET', url: string, headers: Record<string, string> = {}) {
    // A new subject each time, because the user of a subject is cached.
    const own = { authorization: `Bearer user-${(subjects += 1)}`, 'workspace-id': '7', 'x-request-id': 'r-1' };
    const answer = await app.inject({ method, url, headers: { ...own, ...headers } });
    const { 'idempotency-key': key, 'retry-after': retryAfter } = answer.headers;
    return { status: answer.statusCode, body: answer.json<Record<string, unknown>>(), key, retryAfter };
  }

  const never: Work = () => new Promise(() => undefined);

  const UNKNOWN = { status: 504, body: { errorCode: 'unavailable', reason: 'outcome_unknown' }, retryAfter: '1' };
  const WITH_KEY = { 'idempotency-key': 'order-17' };

  describe('a change whose COMMIT is in doubt', () => {
    beforeEach(() => {
      script.work = () => Promise.reject(new CommitInDoubtError(new Error('the connection ended')));
    });

    it('results in 504 with its key, which the log omits', async () => {
      expect(await send('POST', '/accounts', WITH_KEY)).toMatchObject({ ...UNKNOWN, key: 'order-17' });

      expect(lines).toEqual([
        [{ why: 'the connection ended', requestId: expect.any(String) }, 'outcome unknown', 'RefusalFilter'],
      ]);
      expect(JSON.stringify(lines)).not.toContain('order-17');
    });

    it.each([
      ['POST', '/accounts', {}],
      ['POST', '/accounts', { 'idempotency-key': 'no key' }],
      ['PATCH', '/accounts', WITH_KEY],
      ['DELETE', '/recipients', WITH_KEY],
    ] as const)('results in 504 without a key for %s %s with %j', async (method, url, headers) => {
      const answer = await send(method, url, headers);

      expect(answer).toMatchObject(UNKNOWN);
      expect(answer.key).toBeUndefined();
    });
  });

  describe('a handler that does not respond in time', () => {
    /** Ends the time limit once the handler was called. */
    const untilCalled =
      (work: Work, passed: Partial<typeof limits>): Work =>
      (caller) => {
        Object.assign(limits, passed);
        return work(caller);
      };

    it.each([
      ['POST', '/accounts', 'order-17'],
      ['PATCH', '/accounts', undefined],
      ['DELETE', '/recipients', undefined],
    ] as const)('becomes 504 if it may have changed something (%s %s)', async (method, url, key) => {
      script.work = untilCalled(never, { respondAfterMs: 0 });

      const answer = await send(method, url, WITH_KEY);

      expect(answer).toMatchObject(UNKNOWN);
      expect(answer.key).toBe(key);
    });

    it('becomes 503 for a read, which has no signal', async () => {
      const signals: unknown[] = [];
      script.work = untilCalled((caller) => (signals.push(caller.signal), never(caller)), { respondAfterMs: 0 });

      expect(await send('GET', '/accounts')).toMatchObject({
        status: 503,
        body: { reason: 'unavailable' },
        retryAfter: '1',
      });
      expect(signals).toEqual([undefined]);
    });

    it('becomes 503 for a change before its access is checked', async () => {
      script.beforeAccess = async () => {
        Object.assign(limits, { respondAfterMs: 0 });
        await never({} as Caller);
      };

      expect(await send('POST', '/accounts', WITH_KEY)).toMatchObject({ status: 503, body: { reason: 'unavailable' } });
    });

    it('responds itself that nothing was done if it obeys the signal', async () => {
      const withdrawn: Work = ({ signal }) =>
        new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason as Error)));
      script.work = untilCalled(withdrawn, { withdrawAfterMs: 0 });

      const message = 'The request waited too long and was withdrawn. Nothing was done.';
      expect(await send('POST', '/accounts', WITH_KEY)).toMatchObject({
        status: 503,
        body: { reason: 'unavailable', message },
        retryAfter: '1',
        key: undefined,
      });
    });
  });
});
