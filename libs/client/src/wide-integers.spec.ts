import * as fc from 'fast-check';
import { hasWideInteger } from './wide-integers.js';

const WIDE = '9007199254740993';

describe('an integer beyond 2^53 - 1', () => {
  it('is found exactly when JSON.parse would read another number', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }), (integer) => {
        const isWide = integer > BigInt(Number.MAX_SAFE_INTEGER) || integer < -BigInt(Number.MAX_SAFE_INTEGER);

        expect(hasWideInteger(`{"a":[1,{"amount":${integer}}]}`)).toBe(isWide);
      }),
    );
  });

  it('is found after any text, and in no text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(hasWideInteger(JSON.stringify({ [text + WIDE]: text + WIDE, n: 1 }))).toBe(false);
        expect(hasWideInteger(`{${JSON.stringify(text)}:${JSON.stringify(text)},"n":${WIDE}}`)).toBe(true);
      }),
    );
  });

  it.each([`[${WIDE}.0]`, '[9007199254740992]', '[-9007199254740992]', '[1e16]', '[1E400]', WIDE])(
    'is found in %s',
    (json) => expect(hasWideInteger(json)).toBe(true),
  );

  it.each([
    '[9007199254740991]',
    '[-9007199254740991]',
    '[1e15, 0.1e-7]',
    '["\\\\", 1]',
    '"\\"9007199254740993"',
    '{}',
  ])('is not found in %s', (json) => expect(hasWideInteger(json)).toBe(false));

  it('is found behind a string of megabytes full of escapes', () => {
    const long = JSON.stringify('\n"\\'.repeat(1_000_000));

    expect(hasWideInteger(`[${long},1]`)).toBe(false);
    expect(hasWideInteger(`[${long},${WIDE}]`)).toBe(true);
  });
});
