import { Refusal } from '@banking/domain';
import { CommitInDoubtError } from '@banking/postgres';
import { retryInDoubt } from './create-once.js';

const POLICY = { triesMax: 3, firstMs: 1, maxMs: 1 };

/** Runs attempts with these results, one after another. An error is thrown. */
async function run(results: readonly unknown[], signal?: AbortSignal) {
  const attempts: boolean[] = [];
  const outcome = await retryInDoubt(
    async (isRetry) => {
      const result = results[attempts.push(isRetry) - 1];
      if (result instanceof Error) throw result;
      return result;
    },
    POLICY,
    signal,
  ).catch((error: unknown) => error);
  return { outcome, attempts };
}

describe('retryInDoubt', () => {
  const doubt = new CommitInDoubtError(new Error('the first'));

  it('does not retry a success or an error that is no doubt', async () => {
    const failure = new Error('a failure');

    expect(await run(['done'])).toEqual({ outcome: 'done', attempts: [false] });
    expect(await run([failure, 'done'])).toEqual({ outcome: failure, attempts: [false] });
  });

  it('returns the result of the retry', async () => {
    expect(await run([doubt, 'done'])).toEqual({ outcome: 'done', attempts: [false, true] });
  });

  it.each([
    ['another doubt', new CommitInDoubtError(new Error('the second'))],
    ['an unreachable database', new Refusal('unavailable')],
    ['an error that is no refusal', new Error('a failure')],
  ])('retries again after %s', async (_, error) => {
    expect(await run([doubt, error, 'done'])).toEqual({ outcome: 'done', attempts: [false, true, true] });
  });

  it('throws the first doubt if no retry decides', async () => {
    const { outcome, attempts } = await run([
      doubt,
      new CommitInDoubtError(undefined),
      new Refusal('unavailable'),
      'late',
    ]);

    expect(outcome).toBe(doubt);
    expect(attempts).toEqual([false, true, true]);
  });

  it('throws the refusal of a retry', async () => {
    const refusal = new Refusal('order_not_found');

    expect(await run([doubt, refusal, 'late'])).toEqual({ outcome: refusal, attempts: [false, true] });
  });

  it('does not retry for a caller who has gone', async () => {
    const { outcome, attempts } = await run([doubt, 'late'], AbortSignal.abort());

    expect([outcome, attempts]).toEqual([doubt, [false]]);
    expect(await run([doubt, 'done'], new AbortController().signal)).toMatchObject({ outcome: 'done' });
  });
});
