import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { outcomeFor, SANDBOX_OUTCOMES, schedule } from './outcomes.js';

const endings = fc.constantFrom(...Object.keys(SANDBOX_OUTCOMES));
const keys = fc.nat().map((id) => `payout-1-${id}`);

describe('Given the outcomes of the sandbox', () => {
  it('When an account number ends so, Then that decides, whatever stands before it', () => {
    fc.assert(
      fc.property(endings, fc.stringMatching(/^[A-Z0-9]{0,20}$/), (ending, before) => {
        expect(outcomeFor(before + ending)).toBe(SANDBOX_OUTCOMES[ending]);
      }),
    );
  });

  it.each(['50100123456789', 'DE89370400440532013000', '9001x', '', 'constructor', '__proto__'])(
    'When the account number is %j, Then the payment is credited within ten seconds',
    (account) => {
      const says = schedule(outcomeFor(account), 'payout-1-1', 'sandbox');

      expect(says.map(({ status }) => status)).toEqual(['ACSP', 'ACSP', 'ACCC']);
      expect(says.at(-1)!.afterMs).toBeLessThan(10_000);
    },
  );

  it('When the seed is the same, Then so is every delay; with another, not', () => {
    const all = (seed: string) =>
      Array.from({ length: 50 }, (_, id) => schedule(outcomeFor(''), `payout-1-${id}`, seed).at(-1)!.afterMs);

    expect(all('a')).toEqual(all('a'));
    expect(all('a')).not.toEqual(all('b'));
    expect(new Set(all('a')).size).toBeGreaterThan(10);
  });

  it('When something is planned, Then it comes a fifth sooner or later at most, each event under one name', () => {
    fc.assert(
      fc.property(endings, keys, (ending, key) => {
        const { says } = SANDBOX_OUTCOMES[ending]!;
        const events = schedule(SANDBOX_OUTCOMES[ending]!, key, 'seed');
        expect(events).toHaveLength(says.length);
        events.forEach(({ afterMs, providerEvent }, index) => {
          expect(Math.abs(afterMs - says[index]!.afterMs)).toBeLessThanOrEqual(says[index]!.afterMs / 5 + 1);
          const isNew = !events.slice(0, index).some((before) => before.providerEvent === providerEvent);
          expect(isNew).toBe(says[index]!.repeats !== true);
        });
      }),
    );
  });
});

describe('Given the page that tells integrators', () => {
  const page = readFileSync(join(__dirname, '../../../../docs/sandbox.md'), 'utf8');
  const rows = page
    .split('\n')
    .filter((line) => line.startsWith('| `9'))
    .map((line) => line.split('|').map((cell) => cell.trim().replaceAll('`', '')));

  it('When it is read, Then it has every outcome as it is, and an account in each country that ends so', () => {
    const told = rows.map(([, ending, what, says]) => [ending, what, says]);

    expect(told).toEqual(
      Object.entries(SANDBOX_OUTCOMES).map(([ending, { what, says }]) => [
        ending,
        what,
        says.map(({ status, reasonCode }) => [status, reasonCode].filter(Boolean).join(' ')).join(', ') || 'nothing',
      ]),
    );
    for (const [, ending, , , india, germany] of rows) {
      expect([india, germany]).toEqual([expect.stringMatching(`${ending}$`), expect.stringMatching(`${ending}$`)]);
    }
  });

  it('When an IBAN is copied from it, Then its check digits are right', () => {
    for (const [, , , , , iban = ''] of rows) {
      const digits = (iban.slice(4) + iban.slice(0, 4)).replace(/[A-Z]/g, (letter) => String(parseInt(letter, 36)));
      expect({ iban, rest: BigInt(digits) % 97n }).toEqual({ iban, rest: 1n });
    }
  });
});
