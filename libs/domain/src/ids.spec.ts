import * as fc from 'fast-check';
import { ID_MAX, type TransferId, parseId } from './ids.js';

const digitsAndNoise = fc.string({ unit: fc.constantFrom(...'0123456789-+. e_٣１') });

describe('an id', () => {
  it('is the same id after being written and read', () => {
    fc.assert(fc.property(fc.integer({ min: 1, max: ID_MAX }), (id) => parseId<TransferId>(String(id)) === id));
  });

  it('has exactly one spelling', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), digitsAndNoise, fc.bigInt().map(String)), (text) => {
        const id = parseId<TransferId>(text);
        return id === undefined || (String(id) === text && Number.isSafeInteger(id) && id > 0);
      }),
    );
  });

  it('is at most 2^53 - 1', () => {
    expect(parseId<TransferId>('9007199254740991')).toBe(ID_MAX);
    expect(parseId<TransferId>('9007199254740992')).toBeUndefined();
    expect(parseId<TransferId>('9999999999999999')).toBeUndefined();
  });

  it.each(['', '0', '01', '-1', '+1', ' 1', '1 ', '1\n', '1.0', '1e3', '0x10', '１', '٣', '12345678901234567'])(
    'is refused in the form %j',
    (text) => {
      expect(parseId<TransferId>(text)).toBeUndefined();
    },
  );
});
