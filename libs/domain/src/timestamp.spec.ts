import * as fc from 'fast-check';
import { compareInstants, isDay, isInstant, isTimestamp, parseInstant } from './timestamp.js';

const two = (value: number) => String(value).padStart(2, '0');
const four = (value: number) => String(value).padStart(4, '0');

describe('isTimestamp', () => {
  it('accepts every instant of a four-digit year in the format of ECMAScript', () => {
    const instants = fc.date({
      min: new Date('0000-01-01T00:00:00Z'),
      max: new Date('9999-12-31T23:59:59.999Z'),
      noInvalidDate: true,
    });
    fc.assert(fc.property(instants, (instant) => isTimestamp(instant.toISOString())));
  });

  it('accepts exactly the days and times that exist', () => {
    const parts = fc.tuple(
      fc.integer({ min: 1, max: 9999 }),
      fc.nat(13),
      fc.nat(32),
      fc.nat(25),
      fc.nat(61),
      fc.nat(61),
    );
    fc.assert(
      fc.property(parts, ([year, month, day, hour, minute, second]) => {
        const text = `${four(year)}-${two(month)}-${two(day)}T${two(hour)}:${two(minute)}:${two(second)}.000Z`;
        const instant = new Date(text);
        const exists = !Number.isNaN(instant.valueOf()) && instant.toISOString() === text;
        return isTimestamp(text) === exists;
      }),
    );
  });

  it('accepts three to nine fractional digits', () => {
    const withDigits = (count: number) =>
      isTimestamp(`2026-11-21T09:30:00${count === 0 ? '' : '.'}${'1'.repeat(count)}Z`);

    expect([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10].filter(withDigits)).toEqual([3, 4, 5, 6, 7, 8, 9]);
  });

  it.each([
    '2026-02-29T00:00:00.000Z',
    '2100-02-29T00:00:00.000Z',
    '2026-11-31T00:00:00.000Z',
    '2026-11-21T24:00:00.000Z',
    '2016-12-31T23:59:60.000Z',
    '2026-11-21T09:30:00.000+00:00',
    '2026-11-21T09:30:00.000z',
    '2026-11-21t09:30:00.000Z',
    '2026-11-21 09:30:00.000Z',
    '2026-11-21T09:30:00.000Z\n',
    '２026-11-21T09:30:00.000Z',
    '+002026-11-21T09:30:00.000Z',
    '2026-11-21',
    '',
  ])('refuses %j', (text) => {
    expect(isTimestamp(text)).toBe(false);
  });

  it('accepts February 29 in leap years only', () => {
    expect(isTimestamp('2028-02-29T00:00:00.000Z')).toBe(true);
    expect(isTimestamp('2000-02-29T00:00:00.000Z')).toBe(true);
  });
});

describe('isInstant', () => {
  it.each(['2026-11-21T09:30:00Z', '2026-11-21T10:30:00.123456789+01:00', '0001-01-01T00:00:00+14:00'])(
    'accepts %j',
    (text) => {
      expect(isInstant(text)).toBe(true);
    },
  );

  it.each(['0000-12-31T00:00:00Z', '2026-11-21T09:30:00', '2026-02-29T00:00:00Z', '2026-11-21T09:30:00+15:00'])(
    'refuses %j',
    (text) => {
      expect(isInstant(text)).toBe(false);
    },
  );
});

describe('isDay', () => {
  it.each(['2026-11-21', '2028-02-29', '0001-01-01', '9999-12-31'])('accepts %j', (text) => {
    expect(isDay(text)).toBe(true);
  });

  it.each([
    '2026-02-29',
    '0000-01-01',
    '2026-11-21Z',
    '2026-11-21T00:00:00Z',
    '2026-11-21\n',
    '26-11-21',
    '10000-01-01',
    '2026-1-1',
    '',
  ])('refuses %j', (text) => {
    expect(isDay(text)).toBe(false);
  });
});

/** Instants of four-digit years, in milliseconds since 1970. */
const instants = fc.date({
  min: new Date('0001-01-02T00:00:00Z'),
  max: new Date('9999-12-30T23:59:59.999Z'),
  noInvalidDate: true,
});
const offsets = fc.tuple(fc.constantFrom('+', '-'), fc.nat(13), fc.nat(59));

describe('parseInstant', () => {
  it('reads the same instant at every offset', () => {
    fc.assert(
      fc.property(instants, offsets, (date, [sign, hours, minutes]) => {
        const offsetSeconds = (sign === '-' ? -1 : 1) * (hours * 60 + minutes) * 60;
        const local = new Date(date.valueOf() + offsetSeconds * 1000).toISOString().slice(0, -1);
        const instant = parseInstant(`${local}${sign}${two(hours)}:${two(minutes)}`);

        expect(instant.offsetSeconds + 0).toBe(offsetSeconds + 0);
        expect(compareInstants(instant, parseInstant(date.toISOString()))).toBe(0);
      }),
    );
  });

  it.each(['', '2026-12-01', '2026-12-01T08:00:00', '2026-02-29T08:00:00Z', '2026-12-01T08:00:00.1234567890Z'])(
    'throws an Error for %j',
    (text) => {
      expect(() => parseInstant(text)).toThrow('not an instant');
    },
  );
});

describe('compareInstants', () => {
  it.each([
    ['2026-12-01T08:00:00Z', '2026-12-01T08:00:01Z'],
    ['2026-12-01T08:00:00.1Z', '2026-12-01T08:00:00.11Z'],
    ['2026-12-01T08:00:00.09Z', '2026-12-01T08:00:00.1Z'],
    ['2026-12-01T09:00:00+02:00', '2026-12-01T08:00:00.000000001Z'],
  ])('puts %s before %s', (earlier, later) => {
    expect(compareInstants(parseInstant(earlier), parseInstant(later))).toBeLessThan(0);
    expect(compareInstants(parseInstant(later), parseInstant(earlier))).toBeGreaterThan(0);
  });

  it('ignores trailing zeros', () => {
    expect(compareInstants(parseInstant('2026-12-01T08:00:00.1Z'), parseInstant('2026-12-01T08:00:00.100Z'))).toBe(0);
  });
});
