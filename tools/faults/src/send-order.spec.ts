import { classify, isRetried, orderBody } from './send-order.js';

const ORDER = { key: 'f1-0-2', workspaceId: 1, accountId: 7, recipientId: 9, amount: '250' };
const refusal = (reason: string) => JSON.stringify({ errorCode: 'x', message: 'x', reason, requestId: 'x' });

describe('outcome of one attempt', () => {
  it('is ok with an order', () => {
    expect(classify({ status: 200, body: '{"id":5}' })).toMatchObject({ outcome: 'ok', orderId: 5 });
  });

  it.each([
    [422, 'insufficient_funds'],
    [409, 'idempotency_in_progress'],
    [429, 'rate_limited'],
    [503, 'unavailable'],
  ])('is refused for %d %s, because nothing was done', (status, reason) => {
    expect(classify({ status, body: refusal(reason) })).toMatchObject({ outcome: 'refused', status, reason });
  });

  it.each([
    ['an internal error', { status: 500, body: refusal('internal_error') }],
    ['a gateway timeout', { status: 504, body: refusal('outcome_unknown') }],
    ['a request that was cut off', { status: 408, body: refusal('request_timeout') }],
    ['a reset connection', { body: '', error: 'ECONNRESET' }],
    ['half a body', { status: 200, body: '{"id":' }],
    ['a body without an id', { status: 200, body: '{}' }],
  ])('is unknown for %s', (_, received) => {
    expect(classify(received).outcome).toBe('unknown');
  });
});

describe('an order', () => {
  it('is sent again after an unknown outcome, a 503, and while its key is in progress', () => {
    expect(isRetried({ outcome: 'unknown' })).toBe(true);
    expect(isRetried({ outcome: 'refused', status: 503 })).toBe(true);
    expect(isRetried({ outcome: 'refused', status: 409, reason: 'idempotency_in_progress' })).toBe(true);
    expect(isRetried({ outcome: 'refused', status: 422, reason: 'insufficient_funds' })).toBe(false);
    expect(isRetried({ outcome: 'ok', status: 200 })).toBe(false);
  });

  it('has the same body in every attempt, and a reference for every second key', () => {
    expect(orderBody(ORDER, false)).toEqual(orderBody(ORDER, false));
    expect(orderBody(ORDER, false)).toMatchObject({ description: ORDER.key, externalReference: ORDER.key });
    expect(orderBody({ ...ORDER, key: 'f1-0-3' }, true)).not.toHaveProperty('externalReference');
  });
});
