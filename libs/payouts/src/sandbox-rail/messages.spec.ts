import { sandboxMessage } from './messages.js';
import { SANDBOX_OUTCOMES } from './outcomes.js';

describe('sandboxMessage', () => {
  it.each(Object.entries(SANDBOX_OUTCOMES))(
    'has a text for every event of a payment that ends in %s',
    (_, { events }) => {
      for (const { status, reasonCode } of events) {
        const message = sandboxMessage(status, reasonCode);

        expect(message).toMatch(/^[A-Z].*\.$/);
        expect(message).not.toContain(status);
        if (reasonCode !== undefined) {
          expect(message).not.toContain(reasonCode);
          expect(message).not.toBe(sandboxMessage(status));
        }
      }
    },
  );

  it.each([
    ['ACSP', 'XX99', 'Settlement is in progress.'],
    ['RJCT', 'constructor', 'The payment was rejected.'],
    ['toString', undefined, undefined],
  ])('leaves out a code without a public meaning: %s %s', (status, reasonCode, message) => {
    expect(sandboxMessage(status, reasonCode)).toBe(message);
  });
});
