import { cutText } from './xml-values.js';

describe('cutText', () => {
  it.each([
    ['keeps what people write', 'Zoë Grün & Söhne 😀', 20, 'Zoë Grün & Söhne 😀'],
    ['replaces what turns or hides text', 'Asha\u202eoaR\u200b', 20, 'Asha\ufffdoaR\ufffd'],
    ['writes lines as one', 'first\r\nsecond\tthird', 40, 'first second third'],
    ['cuts', 'abcdef', 3, 'abc'],
    ['cuts no character in half', 'ab😀', 3, 'ab'],
  ])('%s', (_, text, lengthMax, expected) => {
    expect(cutText(text, lengthMax)).toBe(expected);
  });

  it('is nothing where there is no text', () => {
    expect(cutText(undefined, 3)).toBeUndefined();
  });
});
