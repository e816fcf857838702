import * as fc from 'fast-check';
import { accountCode } from './account-code.js';

const ids = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });

/** ISO 13616: the first four characters to the end, letters as numbers, and the rest of a division by 97 is one. */
function checks(code: string): boolean {
  const moved = `${code.slice(4)}${code.slice(0, 4)}`.replace(/[A-Z]/g, (letter) => String(letter.charCodeAt(0) - 55));
  return BigInt(moved) % 97n === 1n;
}

describe('Given the code of an account', () => {
  it('When it is made, Then it checks, and no other account has it', () => {
    fc.assert(
      fc.property(ids, ids, (one, other) => {
        expect(accountCode(one)).toMatch(/^BA[0-9]{14,18}$/);
        expect(checks(accountCode(one))).toBe(true);
        expect(accountCode(one) === accountCode(other)).toBe(one === other);
      }),
    );
  });

  it('When a digit is mistyped, Then it does not check', () => {
    fc.assert(
      fc.property(ids, fc.nat(13), fc.integer({ min: 1, max: 9 }), (id, at, by) => {
        const code = accountCode(id);
        const digit = (Number(code[at + 2]) + by) % 10;
        expect(checks(`${code.slice(0, at + 2)}${digit}${code.slice(at + 3)}`)).toBe(false);
      }),
    );
  });
});
