import { Refusal } from '@banking/domain';
import { Circuit } from './circuit.js';

/** As most requests are: of a caller, and sent at once. */
const OF_CALLER = { isOfCaller: true };
const broken = () => Promise.reject(new Error('broken'));
const answering = (status: number) => () => Promise.resolve({ status });

/** A circuit, and what it has told the log. Time passes when the spec says so. */
function circuit() {
  const told: string[] = [];
  const log = { error: (_: object, text: string) => told.push(`error: ${text}`), info: (text: string) => told.push(`info: ${text}`) }; // prettier-ignore
  const under = new Circuit((error) => (error as Error).message === 'broken', log as never);
  const fail = async (times: number, request: () => Promise<{ status: number }> = broken) => {
    for (let time = 0; time < times; time += 1) await under.run(request, OF_CALLER).catch(() => undefined);
  };
  return { circuit: under, told, fail };
}

const refusalOf = async (asked: Promise<unknown>) => {
  const { reason, retryAfterSeconds } = (await asked.catch((error: unknown) => error)) as Refusal;
  return { reason, retryAfterSeconds };
};

describe('Given a circuit to an upstream', () => {
  beforeEach(() => {
    jest.useFakeTimers({ now: 0, doNotFake: ['nextTick', 'setImmediate', 'setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance', 'queueMicrotask'] }); // prettier-ignore
  });
  afterEach(() => jest.useRealTimers());

  it.each([
    ['connections break', broken],
    ['it answers 500', answering(500)],
    ['it answers 503', answering(503)],
  ])('When %s five times in a row, Then nothing is sent for five seconds', async (_, request) => {
    const { circuit: under, told, fail } = circuit();
    await fail(4, request);
    expect(await under.run(answering(200), { isOfCaller: false })).toEqual({ status: 200 });
    await fail(5, request);

    let sent = 0;
    const ask = () => under.run(() => Promise.resolve({ status: (sent += 1) }), OF_CALLER);
    jest.setSystemTime(1_500);
    expect(await refusalOf(ask())).toEqual({ reason: 'unavailable', retryAfterSeconds: 4 });
    jest.setSystemTime(4_999);
    expect(await refusalOf(ask())).toEqual({ reason: 'unavailable', retryAfterSeconds: 1 });
    expect(sent).toBe(0);
    expect(told).toEqual(['error: the upstream fails: nothing is sent there for 5 seconds']);
  });

  it('When one request is answered 500 however often while others are served, Then it is asked on', async () => {
    const { circuit: under, fail } = circuit();
    expect(await under.run(answering(200), OF_CALLER)).toEqual({ status: 200 });
    await fail(20, answering(500));
    expect(await under.run(answering(200), OF_CALLER)).toEqual({ status: 200 });
    jest.setSystemTime(5_001);
    await fail(5, answering(500));

    expect(await refusalOf(under.run(answering(200), OF_CALLER))).toMatchObject({ reason: 'unavailable' });
  });

  it.each([
    ['answers 404', answering(404)],
    ['answers 429', answering(429)],
    ['answers what we do not read', () => Promise.reject(new Error('too large'))],
  ])('When it %s however often, Then it is asked on', async (_, request) => {
    const { circuit: under, fail } = circuit();
    await fail(20, request);

    expect(await under.run(answering(200), OF_CALLER)).toEqual({ status: 200 });
  });

  it('When five seconds are over, Then one request tries and the others are refused; its success lets all through', async () => {
    const { circuit: under, told, fail } = circuit();
    await fail(5);
    jest.setSystemTime(5_000);
    let succeed: (answer: { status: number }) => void = () => undefined;
    const probe = under.run(() => new Promise<{ status: number }>((resolve) => (succeed = resolve)), OF_CALLER);

    const others = await Promise.all(Array.from({ length: 10 }, () => refusalOf(under.run(answering(200), OF_CALLER))));
    expect(new Set(others.map(({ reason }) => reason))).toEqual(new Set(['unavailable']));
    succeed({ status: 200 });
    await probe;
    expect(await under.run(answering(200), OF_CALLER)).toEqual({ status: 200 });
    expect(told.at(-1)).toBe('info: the upstream answers again');
  });

  it('When the request that tries fails, Then five more seconds pass', async () => {
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

  it('When a request fails that began before the circuit opened, Then that says nothing of how the upstream is now', async () => {
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

  it('When those who had to wait run out of time, Then that does not open it', async () => {
    const { circuit: under } = circuit();
    for (let time = 0; time < 10; time += 1) {
      await expect(under.run(broken, { isOfCaller: true, hasWaited: true })).rejects.toThrow('broken');
    }

    expect(await under.run(answering(200), OF_CALLER)).toEqual({ status: 200 });
  });
});
