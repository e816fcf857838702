import { sandboxMessage } from './messages.js';
import { SANDBOX_OUTCOMES } from './outcomes.js';

describe('Given an event of the sandbox network', () => {
  it.each(Object.entries(SANDBOX_OUTCOMES))('When a payment ends in %s, Then each event has a text of its own', (_, { says }) => {
    for (const { status, reasonCode } of says) {
      const message = sandboxMessage(status, reasonCode);

      expect(message).toMatch(/^[A-Z].*\.$/);
      expect(message).not.toContain(status);
      if (reasonCode !== undefined) {
        expect(message).not.toContain(reasonCode);
        expect(message).not.toBe(sandboxMessage(status));
      }
    }
  }); // prettier-ignore

  it.each([
    ['ACSP', 'XX99', 'Settlement is in progress.'],
    ['RJCT', 'constructor', 'The payment was rejected.'],
    ['toString', undefined, undefined],
  ])('When %s %s has no public meaning, Then none is made up', (status, reasonCode, message) => {
    expect(sandboxMessage(status, reasonCode)).toBe(message);
  });
});
