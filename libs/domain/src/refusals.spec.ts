import { parseTransferAmount } from './amount.js';
import { REFUSAL_ACTIONS } from './refusal-actions.js';
import { REFUSALS, Refusal, type RefusalReason, isRefusalReason } from './refusals.js';

const ROWS = Object.entries(REFUSALS) as [RefusalReason, (typeof REFUSALS)[RefusalReason]][];

/** The error code of every status, as published or decided; from 405 to 431 the code repeats the reason. */
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

/** A gateway's 504 has a code of its own. */
const CODE_OF_REASON: Partial<Readonly<Record<RefusalReason, string>>> = { outcome_unknown: 'unavailable' };

describe.each(ROWS)('the refusal %s', (reason, row) => {
  it('is one stable word', () => {
    expect(reason).toMatch(/^[a-z]+(_[a-z]+)*$/);
  });

  it('has the error code of its status', () => {
    expect(row.errorCode).toBe(CODE_OF_REASON[reason] ?? CODE_OF_STATUS[row.status] ?? reason);
  });

  it('says what it means and what to do, each in a sentence that stands alone', () => {
    expect(row.meaning).toMatch(/^[A-Z].*\.$/);
    expect(REFUSAL_ACTIONS[reason]).toMatch(/^[A-Z].*\.$/);
    expect(row.meaning).not.toBe(REFUSAL_ACTIONS[reason]);
  });

  it('can be made with nothing but its reason', () => {
    expect(new Refusal(reason)).toMatchObject({
      reason,
      status: row.status,
      errorCode: row.errorCode,
      message: row.meaning,
    });
  });
});

describe('the refusal table', () => {
  it('never means the same twice', () => {
    expect(new Set(ROWS.map(([, row]) => row.meaning)).size).toBe(ROWS.length);
  });

  it('knows its own words and nothing else', () => {
    expect(isRefusalReason('not_authenticated')).toBe(true);
    expect(['', 'constructor', '__proto__', 'NOT_AUTHENTICATED'].some(isRefusalReason)).toBe(false);
  });
});

describe('a refusal', () => {
  it('is an Error with a message of its own, details, a time to wait and a cause for the log', () => {
    const cause = new Error('the index said so');
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

  it('has no field for what was not given', () => {
    const refusal = new Refusal('unavailable', undefined, { details: undefined, retryAfterSeconds: undefined });

    expect(Object.keys(refusal).sort()).toEqual(['errorCode', 'name', 'reason', 'status']);
    expect(refusal).not.toHaveProperty('cause');
  });
});

describe('instanceof Refusal', () => {
  class Own extends Refusal {}

  it('holds for every refusal of this library, made with the table or without it', () => {
    expect(new Refusal('unavailable')).toBeInstanceOf(Refusal);
    expect(new Own('unavailable')).toBeInstanceOf(Refusal);
    expect(() => parseTransferAmount('1.5')).toThrow(Refusal);
  });

  it('holds for a refusal of another copy of this library', async () => {
    await jest.isolateModulesAsync(async () => {
      const other = await import('./refusals.js');

      expect(other.Refusal).not.toBe(Refusal);
      expect(new other.Refusal('unavailable')).toBeInstanceOf(Refusal);
      expect(new Refusal('unavailable')).toBeInstanceOf(other.Refusal);
    });
  });

  it.each([undefined, null, 'unavailable', 503, {}, new Error('unavailable'), Refusal])('fails for %p', (value) => {
    expect(value instanceof Refusal).toBe(false);
  });

  it('asks a subclass for its own', () => {
    expect(new Own('unavailable')).toBeInstanceOf(Own);
    expect(new Refusal('unavailable') instanceof Own).toBe(false);
  });
});
