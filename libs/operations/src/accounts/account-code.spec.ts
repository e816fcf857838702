import * as fc from 'fast-check';
import { newAccountCode } from './accounts.js';

const codes = fc.noShrink(fc.constant(undefined).map(newAccountCode));

/** ISO 13616: the first four characters to the end, letters as numbers, and the rest of a division by 97 is one. */
function checks(code: string): boolean {
  const moved = `${code.slice(4)}${code.slice(0, 4)}`.replace(/[A-Z]/g, (letter) => String(letter.charCodeAt(0) - 55));
  return BigInt(moved) % 97n === 1n;
}

describe('a new account code', () => {
  it('has valid check digits', () => {
    fc.assert(
      fc.property(codes, (code) => {
        expect(code).toMatch(/^BA[0-9]{16}$/);
        expect(checks(code)).toBe(true);
      }),
    );
  });

  it('has invalid check digits after a wrong digit', () => {
    fc.assert(
      fc.property(codes, fc.nat(15), fc.integer({ min: 1, max: 9 }), (code, at, by) => {
        const digit = (Number(code[at + 2]) + by) % 10;
        expect(checks(`${code.slice(0, at + 2)}${digit}${code.slice(at + 3)}`)).toBe(false);
      }),
    );
  });

  it('differs from its predecessor in the first and the last digits', () => {
    const digits = Array.from({ length: 1_000 }, () => newAccountCode().slice(4));
    const isNear = (code: string, at: number) =>
      code.slice(0, 8) === digits[at + 1]?.slice(0, 8) || code.slice(-8) === digits[at + 1]?.slice(-8);

    expect(new Set(digits).size).toBe(digits.length);
    expect(digits.filter(isNear)).toEqual([]);
  });

  it('has evenly distributed digits', () => {
    const digits = Array.from({ length: 5_000 }, () => newAccountCode().slice(4));
    for (let place = 0; place < 14; place += 1) {
      for (const digit of '0123456789') {
        const count = digits.filter((code) => code[place] === digit).length;
        // 500 are expected with a standard deviation of 21; ten of them are never reached.
        expect(Math.abs(count - 500)).toBeLessThan(210);
      }
    }
  });
});
