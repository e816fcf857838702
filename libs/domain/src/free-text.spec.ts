import * as fc from 'fast-check';
import { hasForbiddenCharacter, isFreeText } from './free-text.js';

describe('isFreeText', () => {
  it.each([
    'Asha Rao',
    "O'Brien & Söhne, 3M",
    '東京都千代田区1-1',
    '𠮷野家',
    'عربى',
    'हिन्दी',
    'e\u0301',
    '❤\ufe0f',
    '🏦',
    'a\u00a0b',
    ' a ',
    '$1 {{x}} <script>',
  ])('accepts %j', (text) => {
    expect(isFreeText(text, 140)).toBe(true);
  });

  it.each([
    ['NUL', 'a\0b'],
    ['a line feed', 'a\nb'],
    ['a tab', 'a\tb'],
    ['delete', 'a\u007fb'],
    ['next line', 'a\u0085b'],
    ['a soft hyphen', 'a\u00adb'],
    ['a zero-width space', 'a\u200bb'],
    ['a zero-width joiner', '👩\u200d🔧'],
    ['a line separator', 'a\u2028b'],
    ['a paragraph separator', 'a\u2029b'],
    ['a right-to-left override', 'a\u202eb'],
    ['a direction isolate', 'a\u2066b'],
    ['a byte order mark', '\ufeffa'],
    ['a private-use character', 'a\ue000b'],
    ['a private-use character of a further plane', 'a\u{100000}b'],
    ['a tag', 'a\u{e0041}b'],
    ['a noncharacter', 'a\uffffb'],
    ['a lone high surrogate', 'a\ud800b'],
    ['a lone low surrogate', 'a\udc00b'],
    ['surrogates in the wrong order', 'a\udc00\ud800b'],
  ])('refuses a text with %s', (_, text) => {
    expect(hasForbiddenCharacter(text)).toBe(true);
    expect(isFreeText(text, 140)).toBe(false);
  });

  it('refuses an empty, blank or too long text', () => {
    expect(['', ' ', '\u3000', 'abc'].map((text) => isFreeText(text, 2))).toEqual([false, false, false, false]);
    expect(isFreeText('ab', 2)).toBe(true);
    expect(['𠮷野', '𠮷野家', '𠮷𠮷', '🏦🏦🏦'].map((text) => isFreeText(text, 2))).toEqual([true, false, true, false]);
  });

  it('refuses exactly the texts that contain a forbidden character', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(hasForbiddenCharacter(text)).toBe(Array.from(text).some(hasForbiddenCharacter));
      }),
    );
  });

  it('accepts only texts that UTF-8 encodes without a change', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.nat(), (text, at) => {
        const broken = `${text.slice(0, at % 7)}\ud83d${text.slice(at % 7)}`;
        for (const one of [text, broken]) {
          if (!hasForbiddenCharacter(one)) expect(new TextDecoder().decode(new TextEncoder().encode(one))).toBe(one);
        }
      }),
    );
  });
});
