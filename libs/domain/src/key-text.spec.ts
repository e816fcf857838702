import { randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import * as fc from 'fast-check';
import { ID_MAX } from './ids.js';
import { idOfKey, isKeyText, KEY_PATTERN, keyText } from './key-text.js';

const id = () => fc.integer({ min: 1, max: ID_MAX });
const random = () => fc.uint8Array({ minLength: 32, maxLength: 32 });

describe('the text of a key', () => {
  it('has its id, and matches the pattern for scanners', () => {
    fc.assert(
      fc.property(id(), random(), (key, bytes) => {
        const text = keyText(key, bytes);
        expect(text).toMatch(KEY_PATTERN);
        expect([isKeyText(text), idOfKey(text)]).toEqual([true, key]);
      }),
    );
  });

  it('differs for different random bytes, the least and the greatest included', () => {
    fc.assert(
      fc.property(random(), random(), (one, other) => {
        expect(keyText(1, one) === keyText(1, other)).toBe(Buffer.from(one).equals(other));
      }),
    );
    expect(keyText(1, new Uint8Array(32)).slice(11, 54)).toBe('0'.repeat(43));
    expect(keyText(1, new Uint8Array(32).fill(255))).toMatch(KEY_PATTERN);
  });

  it('ends with the CRC-32 of zlib, so that one changed character is noticed', () => {
    fc.assert(
      fc.property(id(), random(), fc.nat(), fc.constantFrom('0', '9', 'A', 'Z', 'a', 'z'), (key, bytes, at, digit) => {
        const text = keyText(key, bytes);
        const place = at % text.length;
        const changed = text.slice(0, place) + digit + text.slice(place + 1);
        expect(idOfKey(changed)).toBe(changed === text ? key : undefined);
      }),
    );
    const text = keyText(42, randomBytes(32));
    const check = [...text.slice(-6)].reduce(
      (before, digit) => before * 62 + '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'.indexOf(digit),
      0,
    );
    expect(check).toBe(crc32(text.slice(0, -6)));
  });

  it('is refused for another number of bytes, and for no id', () => {
    expect(() => keyText(1, randomBytes(31))).toThrow(RangeError);
    for (const wrong of [0, -1, 1.5, ID_MAX + 1]) expect(() => keyText(wrong, randomBytes(32))).toThrow(RangeError);
  });

  it.each(['', 'bank_key_', 'bank_key_01_', 'eyJhbGciOiJFUzI1NiJ9.e30.x', `bank_key_1_${'0'.repeat(49)}`])(
    'is not %j',
    (text) => expect(idOfKey(text)).toBeUndefined(),
  );
});
