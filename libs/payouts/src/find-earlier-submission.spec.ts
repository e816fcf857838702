import { findEarlierSubmission, type PayoutAttempt } from './find-earlier-submission.js';
import type { RailEvent } from './rail-event-writes.js';

const EVENTS: readonly RailEvent[] = [{ providerEvent: 'e1', status: 'ACSP' }];

/** Decides a try, and counts the calls that ask the network. */
async function tried(attempt: Partial<PayoutAttempt>, atNetwork: readonly RailEvent[] | undefined) {
  let asked = 0;
  const find = async () => {
    asked += 1;
    return atNetwork;
  };
  const payout = { status: 'submitting', tries: 1, keyNonce: '0123456789ab', isLate: false, ...attempt } as const;
  return { events: await findEarlierSubmission(payout, find), asked };
}

describe('findEarlierSubmission', () => {
  it('does not ask at the first try', async () => {
    expect(await tried({}, EVENTS)).toEqual({ events: undefined, asked: 0 });
  });

  it.each<[string, Partial<PayoutAttempt>]>([
    ['at the second try', { tries: 2 }],
    ['at a late first try', { isLate: true }],
    ['of a submitted payout', { status: 'submitted' }],
  ])('asks once %s', async (_what, attempt) => {
    expect(await tried(attempt, EVENTS)).toEqual({ events: EVENTS, asked: 1 });
  });

  it.each<[string, Partial<PayoutAttempt>]>([
    ['second try', { tries: 2 }],
    ['late first try', { isLate: true }],
  ])('has the payment submitted if the network does not have it at a %s', async (_what, attempt) => {
    expect(await tried(attempt, undefined)).toEqual({ events: undefined, asked: 1 });
  });

  it('fails if the network no longer has a submitted payout', async () => {
    await expect(tried({ status: 'submitted' }, undefined)).rejects.toThrow(
      'the network no longer has a payment that it had accepted',
    );
  });
});
