import * as fc from 'fast-check';
import { isRecognizable, shortened, transliterate } from './characters.js';

describe('text of a file', () => {
  it('has only characters that every bank takes, and no slash at an end or beside another', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 1, max: 40 }), (text, lengthMax) => {
        const written = shortened(transliterate(text), lengthMax);
        expect(written).toMatch(/^[A-Za-z0-9/\-?:().,'+ ]*$/);
        expect(written).not.toMatch(/^[/ ]|[/ ]$|\/\/| {2}/);
        expect(written.length).toBeLessThanOrEqual(lengthMax);
      }),
    );
  });

  it('is written once: written again it stays the same', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        expect(transliterate(transliterate(text))).toBe(transliterate(text));
      }),
    );
  });

  it.each([
    ['Müller & Söhne', 'Muller + Sohne'],
    ['Straße', 'Strase'],
    ['Łódź', 'Lodz'],
    ['Ærø Smørrebrød', 'Aro Smorrebrod'],
    ['Αθήνα', 'Athina'],
    ['Щастие Жеков', 'SHTastie ZHekov'],
    ['Юрій Ґалаґан', 'YUriy Galagan'],
    ['İstanbul ışık', 'Istanbul isik'],
    ['ﬁnance Ⅻ', 'finance XII'],
    ['a_b@c.de €5', 'a-b(at)c.de E5'],
    ['no. 5*6 #7', 'no. 5.6 .7'],
    ['//leading//and/trailing//', 'leading/and/trailing'],
    ['“quoted” – ‘text’', "'quoted' - 'text'"],
    ['Nguyễn Thị', 'Nguyen Thi'],
    ['发票 2107', '2107'],
  ])('has counterparts: %s', (text, written) => {
    expect(transliterate(text)).toBe(written);
  });
});

describe('a name', () => {
  it.each(['Müller', 'Ωνάσης', 'Олена', '7-Eleven', "O'Neill", 'Ravi 王 Menon', '3M'])(
    'is recognizable: %s',
    (name) => {
      expect(isRecognizable(name)).toBe(true);
    },
  );

  it.each(['王小明', 'محمد', 'Li 王小', 'ラビ Me', '***', '№'.repeat(0) + '…'])('is not recognizable: %s', (name) => {
    expect(isRecognizable(name)).toBe(false);
  });
});
