import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { outcomeFor, SANDBOX_OUTCOMES, sandboxMessage, schedule } from './sandbox-rail.js';

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

const endings = fc.constantFrom(...Object.keys(SANDBOX_OUTCOMES));
const keys = fc.nat().map((id) => `payout-1-${id}`);

describe('the outcomes of the sandbox', () => {
  it('depend on the end of the account number only', () => {
    fc.assert(
      fc.property(endings, fc.stringMatching(/^[A-Z0-9]{0,20}$/), (ending, before) => {
        expect(outcomeFor(before + ending)).toBe(SANDBOX_OUTCOMES[ending]);
      }),
    );
  });

  it.each(['50100123456789', 'DE89370400440532013000', '9001x', '', 'constructor', '__proto__'])(
    'credit a payment to %j within ten seconds',
    (account) => {
      const events = schedule(outcomeFor(account), 'payout-1-1', 'sandbox');

      expect(events.map(({ status }) => status)).toEqual(['ACSP', 'ACSP', 'ACCC']);
      expect(events.at(-1)!.afterMs).toBeLessThan(10_000);
    },
  );

  it('have the same delays for the same seed, and others for another seed', () => {
    const all = (seed: string) =>
      Array.from({ length: 50 }, (_, id) => schedule(outcomeFor(''), `payout-1-${id}`, seed).at(-1)!.afterMs);

    expect(all('a')).toEqual(all('a'));
    expect(all('a')).not.toEqual(all('b'));
    expect(new Set(all('a')).size).toBeGreaterThan(10);
  });

  it('come at most a fifth sooner or later than planned, with one id for each event', () => {
    fc.assert(
      fc.property(endings, keys, (ending, key) => {
        const { events: planned } = SANDBOX_OUTCOMES[ending]!;
        const events = schedule(SANDBOX_OUTCOMES[ending]!, key, 'seed');
        expect(events).toHaveLength(planned.length);
        events.forEach(({ afterMs, providerEvent }, index) => {
          expect(Math.abs(afterMs - planned[index]!.afterMs)).toBeLessThanOrEqual(planned[index]!.afterMs / 5 + 1);
          const isNew = !events.slice(0, index).some((before) => before.providerEvent === providerEvent);
          expect(isNew).toBe(planned[index]!.repeats !== true);
        });
      }),
    );
  });
});

describe('docs/integrate/sandbox.md', () => {
  const page = readFileSync(join(__dirname, '../../../docs/integrate/sandbox.md'), 'utf8');
  const rows = page
    .split('\n')
    .filter((line) => line.startsWith('| `9'))
    .map((line) => line.split('|').map((cell) => cell.trim().replaceAll('`', '')))
    // The endings of the verification of payees have a table of their own.
    .filter((cells) => cells.length > 4);

  it('lists every outcome, with an account of each country', () => {
    const listed = rows.map(([, ending, description, events]) => [ending, description, events]);

    expect(listed).toEqual(
      Object.entries(SANDBOX_OUTCOMES).map(([ending, { description, events }]) => [
        ending,
        description,
        events
          .filter(({ repeats }) => repeats !== true)
          .map(({ status, reasonCode }) => [status, reasonCode].filter(Boolean).join(' '))
          .join(', ') || 'nothing',
      ]),
    );
    for (const [, ending, , , india, germany] of rows) {
      expect([india, germany]).toEqual([expect.stringMatching(`${ending}$`), expect.stringMatching(`${ending}$`)]);
    }
  });

  it('lists IBANs with valid check digits', () => {
    for (const [, , , , , iban = ''] of rows) {
      const digits = (iban.slice(4) + iban.slice(0, 4)).replace(/[A-Z]/g, (letter) => String(parseInt(letter, 36)));
      expect({ iban, rest: BigInt(digits) % 97n }).toEqual({ iban, rest: 1n });
    }
  });
});
