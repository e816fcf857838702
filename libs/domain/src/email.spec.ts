import * as fc from 'fast-check';
import { foldEmail } from './email.js';

describe('Given an e-mail address', () => {
  it('When it is folded, Then folding again changes nothing, and every spelling of its case is the same', () => {
    fc.assert(
      fc.property(fc.emailAddress(), fc.func(fc.boolean()), (email, raise) => {
        const mixed = [...email].map((letter, index) => (raise(index) ? letter.toUpperCase() : letter)).join('');
        const folded = foldEmail(mixed);
        if (folded === undefined) return foldEmail(email) === undefined;
        return foldEmail(folded) === folded && folded === foldEmail(email);
      }),
    );
  });

  it('When any text is folded, Then what comes back is ASCII with one @', () => {
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
  ])('When it is %j, Then it names nobody', (text) => {
    expect(foldEmail(text)).toBeUndefined();
  });

  it('When it is good, Then it is folded', () => {
    expect(foldEmail("Ada.O'Hara+bank@Northwind.EXAMPLE")).toBe("ada.o'hara+bank@northwind.example");
  });
});
