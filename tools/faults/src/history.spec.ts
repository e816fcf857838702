import type { LogEvent, Outcome } from './client-log.js';
import { operationsOf } from './history.js';

const ORDER = { key: 'f1-0-1', workspaceId: 1, accountId: 7, recipientId: 9, amount: '250' };

const send = (attempt: number): LogEvent => ({ event: 'send', ...ORDER, attempt, api: 0 });
const response = (attempt: number, outcome: Outcome, orderId?: number): LogEvent => ({
  ...{ event: 'response', key: ORDER.key, attempt, outcome },
  ...(orderId !== undefined && { orderId, digest: `digest of ${orderId}` }),
});

describe('outcome of an order with several attempts', () => {
  it.each<[string, Outcome, readonly LogEvent[]]>([
    ['one acknowledgement', 'ok', [send(1), response(1, 'ok', 5)]],
    ['one refusal', 'refused', [send(1), response(1, 'refused')]],
    ['no response', 'unknown', [send(1)]],
    ['a lost response and an acknowledgement', 'ok', [send(1), response(1, 'unknown'), send(2), response(2, 'ok', 5)]],
    [
      'a lost response and a refusal, because the first attempt may still be carried out',
      'unknown',
      [send(1), response(1, 'unknown'), send(2), response(2, 'refused')],
    ],
    ['two refusals', 'refused', [send(1), response(1, 'refused'), send(2), response(2, 'refused')]],
    ['an attempt without a response and a refusal', 'unknown', [send(1), send(2), response(2, 'refused')]],
  ])('of %s is %s', (_, outcome, events) => {
    expect(operationsOf(events)).toEqual([expect.objectContaining({ ...ORDER, outcome })]);
  });

  it('names every id that was acknowledged', () => {
    const [operation] = operationsOf([send(1), response(1, 'ok', 5), send(2), response(2, 'ok', 6)]);

    expect(operation).toMatchObject({ attempts: 2, orderId: 5, orderIds: [5, 6] });
    expect(operation?.digests).toEqual(['digest of 5', 'digest of 6']);
  });

  it('is separate for each key', () => {
    const other: LogEvent = { event: 'send', ...ORDER, key: 'f1-0-2', attempt: 1, api: 1 };

    expect(operationsOf([send(1), other, response(1, 'ok', 5)]).map(({ key, outcome }) => [key, outcome])).toEqual([
      ['f1-0-1', 'ok'],
      ['f1-0-2', 'unknown'],
    ]);
  });
});
