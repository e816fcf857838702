import fc from 'fast-check';
import { inUtc } from './columns.js';

const seconds = fc
  .date({ min: new Date('0001-01-02T00:00:00Z'), max: new Date('9999-12-30T00:00:00Z'), noInvalidDate: true })
  .map((date) => date.toISOString().slice(0, 19));
const digits = fc.stringMatching(/^[0-9]{1,9}$/);
const offsets = fc.constantFrom('Z', '+00:00', '-00:00', '+05:30', '-11:00');

describe('a time in UTC', () => {
  it('is the same instant with six digits, from any offset', () => {
    fc.assert(
      fc.property(seconds, digits, offsets, (local, fraction, offset) => {
        const utc = inUtc(`${local}.${fraction}${offset}`);
        expect(utc).toBe(
          `${new Date(local + offset).toISOString().slice(0, 19)}.${fraction.padEnd(6, '0').slice(0, 6)}Z`,
        );
      }),
    );
  });
});
