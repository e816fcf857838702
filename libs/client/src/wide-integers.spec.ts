import * as fc from 'fast-check';
import { hasWideInteger } from './read-response.js';

const WIDE = '9007199254740993';

const isFoundIn = (json: string) => hasWideInteger(JSON.parse(json));

describe('an integer beyond 2^53 - 1', () => {
  it('is found if and only if JSON.parse returns another number', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }), (integer) => {
        const isWide = integer > BigInt(Number.MAX_SAFE_INTEGER) || integer < -BigInt(Number.MAX_SAFE_INTEGER);

        expect(isFoundIn(`{"a":[1,{"amount":${integer}}]}`)).toBe(isWide);
      }),
    );
  });

  it('is found at each position among other values', () => {
    const narrow = fc.jsonValue().filter((value) => !hasWideInteger(value));
    fc.assert(
      fc.property(fc.array(narrow), fc.dictionary(fc.string(), narrow), fc.nat(), (items, fields, at) => {
        const around = (inner: string) => {
          const [left, right] = [items.slice(0, at), items.slice(at)].map((part) =>
            part.map((item) => JSON.stringify(item)),
          );
          return `[${[...(left ?? []), `{"of":${inner}}`, ...(right ?? [])].join()},${JSON.stringify(fields)}]`;
        };

        expect(isFoundIn(around(WIDE))).toBe(true);
        expect(isFoundIn(around('1'))).toBe(false);
      }),
    );
  });

  it('is found after any string, and not within a string', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(isFoundIn(JSON.stringify({ [text + WIDE]: text + WIDE, n: 1 }))).toBe(false);
        expect(isFoundIn(`{${JSON.stringify(text)}:${JSON.stringify(text)},"n ":${WIDE}}`)).toBe(true);
      }),
    );
  });

  it.each([
    `[${WIDE}.0]`,
    '[9007199254740992]',
    '[-9007199254740992]',
    '[1e16]',
    '[1E400]',
    WIDE,
    `{"__proto__":${WIDE}}`,
  ])('is found in %s', (json) => expect(isFoundIn(json)).toBe(true));

  it.each([
    '[9007199254740991]',
    '[-9007199254740991]',
    '[1e15, 0.1e-7]',
    '["\\\\", 1]',
    '"\\"9007199254740993"',
    '{}',
    'null',
  ])('is not found in %s', (json) => expect(isFoundIn(json)).toBe(false));

  it('is found at any depth', () => {
    const deep = (inner: string) => '['.repeat(1_000_000) + inner + ']'.repeat(1_000_000);

    expect(isFoundIn(deep('1'))).toBe(false);
    expect(isFoundIn(deep(WIDE))).toBe(true);
  });
});
