import { parseTransferAmount } from './amount.js';
import { BankingError } from './banking-error.js';
import { REFUSALS, Refusal, type RefusalReason, isRefusalReason } from './refusal-table.js';

const ROWS = Object.entries(REFUSALS) as [RefusalReason, (typeof REFUSALS)[RefusalReason]][];

/** The error code of every status, as published or decided. Every other status, 405 to 431 among them, repeats the reason. */
const CODE_OF_STATUS: Readonly<Record<number, string>> = {
  400: 'invalid_request',
  401: 'invalid_request',
  403: 'forbidden',
  404: 'invalid_request',
  409: 'conflict',
  422: 'unprocessable',
  429: 'rate_limited',
  500: 'internal_error',
  503: 'unavailable',
};

/**
 * The reasons whose name does not follow the rule that `_not_found` and status 404 imply each other. All of them were
 * published before the rule, and callers branch on them.
 */
const NAMED_BEFORE_THE_RULE: readonly RefusalReason[] = [
  'country_unknown', // 404: named like currency_unknown, a code that ISO does not list
];

/** The published 504 has the error code of the 503. */
const CODE_OF_REASON: Partial<Readonly<Record<RefusalReason, string>>> = { outcome_unknown: 'unavailable' };

describe.each(ROWS)('the refusal %s', (reason, row) => {
  it('is lower-case words joined by underscores', () => {
    expect(reason).toMatch(/^[a-z]+(_[a-z]+)*$/);
  });

  it('has the error code of its status', () => {
    expect(new Refusal(reason).errorCode).toBe(CODE_OF_REASON[reason] ?? CODE_OF_STATUS[row.status] ?? reason);
  });

  it('ends in _not_found if and only if its status is 404', () => {
    const follows = reason.endsWith('_not_found') === (row.status === 404);
    expect(follows).toBe(!NAMED_BEFORE_THE_RULE.includes(reason));
  });

  it('has a message and an action, each of full sentences', () => {
    expect(row.message).toMatch(/^[A-Z].*\.$/);
    expect(row.action).toMatch(/^[A-Z].*\.$/);
    expect(row.message).not.toBe(row.action);
  });

  it('has the status and the message of its row by default', () => {
    expect(new Refusal(reason)).toMatchObject({ reason, status: row.status, message: row.message });
  });
});

describe('the refusal table', () => {
  it('has no message twice', () => {
    expect(new Set(ROWS.map(([, row]) => row.message)).size).toBe(ROWS.length);
  });

  it('contains its own reasons and no inherited property', () => {
    expect(isRefusalReason('not_authenticated')).toBe(true);
    expect(['', 'constructor', '__proto__', 'NOT_AUTHENTICATED'].some(isRefusalReason)).toBe(false);
  });
});

describe('a refusal', () => {
  it('is an Error with a custom message, details, seconds to wait and a cause for the log', () => {
    const cause = new Error('duplicate key');
    const details = [{ path: '/amount', reason: 'amount_malformed', message: 'Write digits.' }];

    const refusal = new Refusal('body_malformed', 'One field is wrong.', { details, retryAfterSeconds: 3, cause });

    expect(refusal).toBeInstanceOf(Error);
    expect(refusal).toMatchObject({
      name: 'Refusal',
      message: 'One field is wrong.',
      details,
      retryAfterSeconds: 3,
      cause,
    });
  });

  it('has no property for an option that is undefined', () => {
    const refusal = new Refusal('unavailable', undefined, { details: undefined, retryAfterSeconds: undefined });

    expect(Object.keys(refusal).sort()).toEqual(['code', 'errorCode', 'name', 'reason', 'status']);
    expect(refusal).not.toHaveProperty('cause');
  });
});

describe('instanceof Refusal', () => {
  class Own extends Refusal {}

  it('is true for every refusal of this library, with and without a row of the table', () => {
    expect(new Refusal('unavailable')).toBeInstanceOf(Refusal);
    expect(new Own('unavailable')).toBeInstanceOf(Refusal);
    expect(() => parseTransferAmount('1.5')).toThrow(Refusal);
  });

  it('is true for a refusal of another copy of this library', async () => {
    await jest.isolateModulesAsync(async () => {
      const other = await import('./refusal-table.js');

      expect(other.Refusal).not.toBe(Refusal);
      expect(new other.Refusal('unavailable')).toBeInstanceOf(Refusal);
      expect(new Refusal('unavailable')).toBeInstanceOf(other.Refusal);
      expect(new other.Refusal('unavailable')).toBeInstanceOf(BankingError);
    });
  });

  it.each([undefined, null, 'unavailable', 503, {}, new Error('unavailable'), Refusal])('is false for %p', (value) => {
    expect(value instanceof Refusal).toBe(false);
  });

  it('checks the prototype for a subclass', () => {
    expect(new Own('unavailable')).toBeInstanceOf(Own);
    expect(new Refusal('unavailable') instanceof Own).toBe(false);
  });
});
