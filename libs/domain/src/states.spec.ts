import * as fc from 'fast-check';
import {
  ACCOUNT_STEPS,
  EXECUTION_STEPS,
  ORDER_STEPS,
  PAYOUT_STEPS,
  type Steps,
  TRANSACTION_STEPS,
  USER_STEPS,
  WEBHOOK_ENDPOINT_STEPS,
  isFinal,
  isLegalStep,
} from './states.js';

const TABLES: readonly (readonly [string, Steps])[] = [
  ['transactions', TRANSACTION_STEPS],
  ['accounts', ACCOUNT_STEPS],
  ['orders', ORDER_STEPS],
  ['executions', EXECUTION_STEPS],
  ['payouts', PAYOUT_STEPS],
  ['users', USER_STEPS],
  ['webhook endpoints', WEBHOOK_ENDPOINT_STEPS],
];

describe.each(TABLES)('the states of %s', (_name, table) => {
  const states = Object.keys(table);

  it('lead only to states of the same table, and never to themselves', () => {
    for (const [state, next] of Object.entries(table)) {
      expect(states).toEqual(expect.arrayContaining([...next]));
      expect(next).not.toContain(state);
      expect(isLegalStep(table, state, state)).toBe(false);
    }
  });

  it('have no step from a final state', () => {
    fc.assert(
      fc.property(fc.constantFrom(...states), fc.constantFrom(...states), (from, to) => {
        return !isFinal(table, from) || !isLegalStep(table, from, to);
      }),
    );
  });

  it('have no step from or to an unknown state', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.constantFrom('constructor', '__proto__', 'toString')), (word) => {
        if (states.includes(word)) return true;
        return (
          states.every((state) => !isLegalStep(table, word, state) && !isLegalStep(table, state, word)) &&
          !isFinal(table, word)
        );
      }),
    );
  });
});

describe('the published steps', () => {
  it('end a transaction with the final status of the rail', () => {
    expect(steps(TRANSACTION_STEPS)).toEqual(['pending>completed', 'pending>failed']);
  });

  it('disable an account and enable it again', () => {
    expect(steps(ACCOUNT_STEPS)).toEqual(['enabled>disabled', 'disabled>enabled']);
  });

  it('end an order in one of three ways', () => {
    expect(steps(ORDER_STEPS)).toEqual(['active>completed', 'active>cancelled', 'active>failed']);
  });

  it('cancel an execution only before it has begun', () => {
    expect(steps(EXECUTION_STEPS)).toEqual([
      'awaiting_approval>scheduled',
      'awaiting_approval>failed',
      'awaiting_approval>cancelled',
      'scheduled>pending',
      'scheduled>completed',
      'scheduled>failed',
      'scheduled>cancelled',
      'pending>completed',
      'pending>failed',
    ]);
  });

  it('complete a user once, and suspend and resume it', () => {
    expect(steps(USER_STEPS)).toEqual(['pending>completed', 'completed>suspended', 'suspended>completed']);
  });

  it('let a webhook endpoint fail, recover, be disabled and be enabled', () => {
    expect(steps(WEBHOOK_ENDPOINT_STEPS)).toEqual([
      'enabled>failing',
      'enabled>disabled',
      'failing>enabled',
      'failing>disabled',
      'disabled>enabled',
    ]);
  });
});

/** Every permitted step of a table. */
function steps(table: Steps): readonly string[] {
  const states = Object.keys(table);
  return states.flatMap((from) => states.filter((to) => isLegalStep(table, from, to)).map((to) => `${from}>${to}`));
}
