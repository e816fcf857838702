import * as fc from 'fast-check';
import { newAccountCode } from '../accounts/accounts.js';
import { codesOfText, matchEntry, type NamedAccount } from './match-entry.js';

const MINE = 'BA12345678901234567890'.slice(0, 18);
const OTHER = 'BA99000000000000000001'.slice(0, 18);

const account = (accountId: number): NamedAccount => ({
  ...{ workspaceId: 1 as never, accountId, currencyId: 978, currency: 'EUR' },
});
const ACCOUNTS = new Map([
  [MINE, account(1)],
  [OTHER, account(2)],
]);

/** `RF` and the check digits of ISO 11649 before a reference. */
function creditorReference(reference: string): string {
  const digits = [...`${reference}RF00`].map((character) => Number.parseInt(character, 36)).join('');
  return `RF${String(98n - (BigInt(digits) % 97n)).padStart(2, '0')}${reference}`;
}

const matched = (creditor: string | undefined, remittance?: string) =>
  matchEntry({ creditorReference: creditor, remittance }, ACCOUNTS)?.accountId;

describe('an entry', () => {
  it.each([
    ['a structured reference that is a code', MINE, undefined],
    ['a structured reference in small letters and groups', 'ba12 3456 7890 1234 56', undefined],
    ['a reference of ISO 11649', creditorReference(MINE), undefined],
    ['a reference of ISO 11649 in groups of four', creditorReference(MINE).replace(/(.{4})/g, '$1 '), undefined],
    ['a word of its text', undefined, `Invoice 4711 ${MINE} thank you`],
    ['a word of its text in small letters', undefined, `invoice,${MINE.toLowerCase()}.`],
    ['words of its text in groups of four', undefined, `Invoice 4711, BA12 3456 7890 1234 56`],
    ['the same code twice', undefined, `${MINE} / ${MINE}`],
    ['its text, where the structured reference is of another kind', 'INV-4711', `for ${MINE}`],
    ['its structured reference before its text', MINE, `not for ${OTHER}`],
  ])('is matched by %s', (_, creditor, remittance) => {
    expect(matched(creditor, remittance)).toBe(1);
  });

  it.each([
    ['no text', undefined, undefined],
    ['no code', undefined, 'Invoice 4711'],
    ['two codes', undefined, `${MINE} ${OTHER}`],
    ['a code inside of a word', undefined, `X${MINE}`],
    ['a code that goes on', undefined, `${MINE}7`],
    ['a wrong digit', undefined, MINE.replace('5', '6')],
    ['wrong check digits of ISO 11649', `RF00${MINE}`, undefined],
    ['words that another character separates', undefined, 'BA12 3456 / 7890 1234 56'],
  ])('is not matched by %s', (_, creditor, remittance) => {
    expect(matched(creditor, remittance)).toBeUndefined();
  });

  it('is matched by each code that is made, however it is grouped', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 4 }), (cuts) => {
        const code = newAccountCode();
        const parts: string[] = [];
        let rest = code;
        for (const cut of cuts) {
          parts.push(rest.slice(0, cut));
          rest = rest.slice(cut);
        }
        const text = `Rent ${[...parts, rest].filter((part) => part !== '').join(' ')} November`;
        return (
          matchEntry({ creditorReference: undefined, remittance: text }, new Map([[code, account(9)]]))?.accountId === 9
        );
      }),
    );
  });

  it('of any text has bounded candidates', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 2_000 }), (text) => codesOfText(text).every((code) => code.length <= 34)),
    );
    expect(codesOfText('A '.repeat(1_000)).length).toBeLessThan(100);
  });
});
