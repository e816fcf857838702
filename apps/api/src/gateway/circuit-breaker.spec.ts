import type { Refusal, WorkspaceId } from '@banking/domain';
import { CircuitBreaker } from './circuit-breaker.js';

/** The usual kind: a request of a caller, sent without waiting. */
const OF_CALLER = { isOfCaller: true };
const broken = () => Promise.reject(new Error('broken'));
const answering = (status: number) => () => Promise.resolve({ status });

/** A circuit breaker with its log lines. The spec advances the time. */
function circuit() {
  const logged: string[] = [];
  const log = {
    error: (_: object, text: string) => logged.push(`error: ${text}`),
    info: (text: string) => logged.push(`info: ${text}`),
  };
  const under = new CircuitBreaker((error) => (error as Error).message === 'broken', log as never);
  const fail = async (times: number, request: () => Promise<{ status: number }> = broken) => {
    for (let time = 0; time < times; time += 1) await under.run(request, OF_CALLER).catch(() => undefined);
  };
  return { circuit: under, logged, fail };
}

const refusalOf = async (asked: Promise<unknown>) => {
  const { reason, retryAfterSeconds } = (await asked.catch((error: unknown) => error)) as Refusal;
  return { reason, retryAfterSeconds };
};

describe('CircuitBreaker', () => {
  beforeEach(() => {
    jest.useFakeTimers({
      now: 0,
      doNotFake: [
        'nextTick',
        'setImmediate',
        'setTimeout',
        'clearTimeout',
        'setInterval',
        'clearInterval',
        'performance',
        'queueMicrotask',
      ],
    });
  });
  afterEach(() => jest.useRealTimers());

  it.each([
    ['a connection broke', broken],
    ['the status was 500', answering(500)],
    ['the status was 503', answering(503)],
  ])('sends nothing for five seconds after five times in a row %s', async (_, request) => {
    const { circuit: under, logged, fail } = circuit();
    await fail(4, request);
    expect(await under.run(answering(200), { isOfCaller: false })).toEqual({ status: 200 });
    await fail(5, request);

    let sent = 0;
    const send = () => under.run(() => Promise.resolve({ status: (sent += 1) }), OF_CALLER);
    jest.setSystemTime(1_500);
    expect(await refusalOf(send())).toEqual({ reason: 'unavailable', retryAfterSeconds: 4 });
    jest.setSystemTime(4_999);
    expect(await refusalOf(send())).toEqual({ reason: 'unavailable', retryAfterSeconds: 1 });
    expect(sent).toBe(0);
    expect(logged).toEqual(['error: circuit open: the upstream fails, so nothing is sent for 5 seconds']);
  });

  it.each([500, 503])('stays closed for repeated %i of one request while others succeed', async (status) => {
    const { circuit: under, fail } = circuit();
    expect(await under.run(answering(200), OF_CALLER)).toEqual({ status: 200 });
    await fail(20, answering(status));
    expect(await under.run(answering(200), OF_CALLER)).toEqual({ status: 200 });
    jest.setSystemTime(5_001);
    await fail(5, answering(status));

    expect(await refusalOf(under.run(answering(200), OF_CALLER))).toMatchObject({ reason: 'unavailable' });
  });

  it.each([
    ['another workspace', { isOfCaller: true, workspaceId: 2 as WorkspaceId }],
    ['no workspace', { isOfCaller: false }],
  ])('stays closed if only one workspace gets 503, until a request of %s fails too', async (_, other) => {
    const { circuit: under } = circuit();
    const ofWorkspace = { isOfCaller: true, workspaceId: 1 as WorkspaceId };
    for (let time = 0; time < 20; time += 1) {
      expect(await under.run(answering(503), ofWorkspace)).toEqual({ status: 503 });
    }
    expect(await under.run(answering(503), other)).toEqual({ status: 503 });

    expect(await refusalOf(under.run(answering(200), other))).toMatchObject({ reason: 'unavailable' });
  });

  it('opens for the broken connections of one workspace', async () => {
    const { circuit: under } = circuit();
    const ofWorkspace = { isOfCaller: true, workspaceId: 1 as WorkspaceId };
    for (let time = 0; time < 5; time += 1) await expect(under.run(broken, ofWorkspace)).rejects.toThrow('broken');

    expect(await refusalOf(under.run(answering(200), ofWorkspace))).toMatchObject({ reason: 'unavailable' });
  });

  it.each([
    ['responds 404', answering(404)],
    ['responds 429', answering(429)],
    ['sends a response that is too large', () => Promise.reject(new Error('too large'))],
  ])('stays closed if the upstream repeatedly %s', async (_, request) => {
    const { circuit: under, fail } = circuit();
    await fail(20, request);

    expect(await under.run(answering(200), OF_CALLER)).toEqual({ status: 200 });
  });

  it('probes with one request after five seconds, refuses the others, and closes when the probe succeeds', async () => {
    const { circuit: under, logged, fail } = circuit();
    await fail(5);
    jest.setSystemTime(5_000);
    let succeed: (answer: { status: number }) => void = () => undefined;
    const probe = under.run(() => new Promise<{ status: number }>((resolve) => (succeed = resolve)), OF_CALLER);

    const others = await Promise.all(Array.from({ length: 10 }, () => refusalOf(under.run(answering(200), OF_CALLER))));
    expect(new Set(others.map(({ reason }) => reason))).toEqual(new Set(['unavailable']));
    succeed({ status: 200 });
    await probe;
    expect(await under.run(answering(200), OF_CALLER)).toEqual({ status: 200 });
    expect(logged.at(-1)).toBe('info: circuit closed: the upstream responds again');
  });

  it('stays open for five more seconds if the probe fails', async () => {
    const { circuit: under, fail } = circuit();
    await fail(5);
    jest.setSystemTime(5_000);
    await fail(1);
    jest.setSystemTime(9_999);
    expect(await refusalOf(under.run(answering(200), OF_CALLER))).toEqual({
      reason: 'unavailable',
      retryAfterSeconds: 1,
    });
    jest.setSystemTime(10_000);

    expect(await under.run(answering(200), OF_CALLER)).toEqual({ status: 200 });
  });

  it('ignores the failure of a request that began before the circuit opened', async () => {
    const { circuit: under, fail } = circuit();
    const old: ((error: Error) => void)[] = [];
    const asked = Array.from({ length: 5 }, () =>
      under.run(() => new Promise<{ status: number }>((_, reject) => old.push(reject)), OF_CALLER),
    );
    await fail(5);
    jest.setSystemTime(5_000);
    let succeed: (answer: { status: number }) => void = () => undefined;
    const probe = under.run(() => new Promise<{ status: number }>((resolve) => (succeed = resolve)), OF_CALLER);
    for (const reject of old) reject(new Error('broken'));
    for (const one of asked) await expect(one).rejects.toThrow('broken');
    succeed({ status: 200 });
    await probe;

    expect(await under.run(answering(200), OF_CALLER)).toEqual({ status: 200 });
  });

  it('ignores the timeouts of requests that waited in the queue', async () => {
    const { circuit: under } = circuit();
    for (let time = 0; time < 10; time += 1) {
      await expect(under.run(broken, { isOfCaller: true, hasWaited: true })).rejects.toThrow('broken');
    }

    expect(await under.run(answering(200), OF_CALLER)).toEqual({ status: 200 });
  });
});
