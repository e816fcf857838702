import * as fc from 'fast-check';
import { foldEmail } from './email.js';

describe('folded e-mail address', () => {
  it('is the same for each case of the letters, and after folding twice', () => {
    fc.assert(
      fc.property(fc.emailAddress(), fc.func(fc.boolean()), (email, raise) => {
        const mixed = [...email].map((letter, index) => (raise(index) ? letter.toUpperCase() : letter)).join('');
        const folded = foldEmail(mixed);
        if (folded === undefined) return foldEmail(email) === undefined;
        return foldEmail(folded) === folded && folded === foldEmail(email);
      }),
    );
  });

  it('is ASCII with one @ for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const folded = foldEmail(text);
        return folded === undefined || /^[!-?[-~]+@[a-z0-9.-]+$/.test(folded);
      }),
    );
  });

  it.each([
    'ada@northwİnd.example',
    '\u212Aim@bank.example',
    'ada@ｎorthwind.example',
    'ada',
    '@b',
    'a@',
    'a b@c',
    'a@b@c',
    'a@b\n',
    '',
  ])('is undefined for %j', (text) => {
    expect(foldEmail(text)).toBeUndefined();
  });

  it('is in lower case', () => {
    expect(foldEmail("Ada.O'Hara+bank@Northwind.EXAMPLE")).toBe("ada.o'hara+bank@northwind.example");
  });
});
