import { BankingError, Refusal } from '@banking/domain';
import * as client from './index.js';
import { SessionError } from './credentials.js';
import { WebhookVerificationError } from './webhooks.js';

const { ConnectionError, OutcomeUnknownError, RemoteRefusal, ServiceError } = client;
const cause = new ServiceError('no', { status: 502, requestId: 'r-1', retryAfterSeconds: 3, body: '' });

describe('the base of all errors', () => {
  it.each([
    [new Refusal('transfer_not_found'), { name: 'Refusal', code: 'transfer_not_found', status: 404 }],
    [
      new RemoteRefusal('rate_limited', undefined, { requestId: 'r-2', retryAfterSeconds: 1 }),
      { name: 'RemoteRefusal', code: 'rate_limited', status: 429, requestId: 'r-2', retryAfterSeconds: 1 },
    ],
    [cause, { name: 'ServiceError', code: 'unexpected_response', status: 502, requestId: 'r-1', retryAfterSeconds: 3 }],
    [new ServiceError('no', { status: 418, reason: 'tea', body: '' }), { code: 'tea', status: 418 }],
    [
      new ConnectionError('no', { cause: 1, timedOut: true, neverSent: false, requestId: 'r-3' }),
      { name: 'ConnectionError', code: 'timed_out', requestId: 'r-3' },
    ],
    [new ConnectionError('no', { cause: 1, timedOut: false, neverSent: true }), { code: 'connection_failed' }],
    [
      new OutcomeUnknownError('no', { cause, idempotencyKey: 'k' }),
      {
        name: 'OutcomeUnknownError',
        code: 'outcome_unknown',
        status: 502,
        requestId: 'r-1',
        retryAfterSeconds: 3,
        cause,
      },
    ],
    [
      new OutcomeUnknownError('no', { cause: new Error('no'), idempotencyKey: 'k' }),
      { code: 'outcome_unknown', idempotencyKey: 'k' },
    ],
    [new SessionError('no', { isOver: true }), { name: 'SessionError', code: 'session_over' }],
    [new SessionError('no', { isOver: false }), { code: 'session_unavailable' }],
    [
      new WebhookVerificationError('header_missing', 'no'),
      { name: 'WebhookVerificationError', code: 'header_missing' },
    ],
  ])('has the code, the status and the id of the request: %s', (error, fields) => {
    expect(error).toBeInstanceOf(BankingError);
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject(fields);
    expect(error.stack).toContain('one-base-of-errors.spec');
  });

  it('covers every class of errors of the client', () => {
    const classes = Object.values(client).filter(
      (value) => typeof value === 'function' && value.prototype instanceof Error,
    );

    expect(classes).toHaveLength(4);
    for (const one of classes) expect(Object.getOwnPropertyDescriptor(one, 'kind')).toBeDefined();
  });
});
