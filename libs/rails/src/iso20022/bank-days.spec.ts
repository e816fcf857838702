import * as fc from 'fast-check';
import { DEFAULT_DIALECT } from '../rail-config.js';
import { creationTimeOf, executionDay, isBankDay, isCutOffNear } from './bank-days.js';

const BERLIN = { cutOff: { time: '15:30', timeZone: 'Europe/Berlin' }, holidays: { USD: ['2026-11-26'] } };
const at = (text: string) => Date.parse(text);

describe('the days of banks', () => {
  // Source: ECB, calendar of TARGET closing days, as published for these years.
  it.each([
    ['2024-01-01', '2024-03-29', '2024-04-01', '2024-05-01', '2024-12-25', '2024-12-26'],
    ['2025-01-01', '2025-04-18', '2025-04-21', '2025-05-01', '2025-12-25', '2025-12-26'],
    ['2026-01-01', '2026-04-03', '2026-04-06', '2026-05-01', '2026-12-25', '2026-12-26'],
    ['2038-01-01', '2038-04-23', '2038-04-26'],
  ])('are none in EUR on the closing days of T2, such as %s', (...closed) => {
    expect(closed.filter((day) => isBankDay(day, 'EUR', {}))).toEqual([]);
    expect(isBankDay('2026-04-07', 'EUR', {})).toBe(true);
    expect(isBankDay('2026-04-03', 'USD', {})).toBe(true);
  });

  it('are none at a weekend, and on the holidays of the configuration', () => {
    expect(isBankDay('2026-11-28', 'JPY', {})).toBe(false);
    expect(isBankDay('2026-11-29', 'JPY', {})).toBe(false);
    expect(isBankDay('2026-11-26', 'USD', BERLIN.holidays)).toBe(false);
    expect(isBankDay('2026-11-26', 'EUR', BERLIN.holidays)).toBe(true);
  });
});

describe('the execution day', () => {
  it.each([
    ['before the cut-off in winter', '2026-11-26T14:29:59Z', 'EUR', '2026-11-26'],
    ['from the cut-off on', '2026-11-26T14:30:00Z', 'EUR', '2026-11-27'],
    ['before the cut-off in summer', '2026-07-15T13:29:59Z', 'EUR', '2026-07-15'],
    ['after it in summer', '2026-07-15T13:30:00Z', 'EUR', '2026-07-16'],
    ['on a Friday evening', '2026-11-27T18:00:00Z', 'EUR', '2026-11-30'],
    ['before Easter', '2026-04-02T18:00:00Z', 'EUR', '2026-04-07'],
    ['before Christmas', '2026-12-24T18:00:00Z', 'EUR', '2026-12-28'],
    ['on a holiday of the currency', '2026-11-26T08:00:00Z', 'USD', '2026-11-27'],
    ['after midnight of the zone', '2026-11-25T23:30:00Z', 'EUR', '2026-11-26'],
  ])('is %s the right one', (_when, instant, currency, day) => {
    expect(executionDay(at(instant), currency, BERLIN)).toBe(day);
  });

  it('is a bank day, never before the day of the file, and never earlier for a later file', () => {
    const instant = fc.integer({ min: at('2020-01-01T00:00:00Z'), max: at('2060-01-01T00:00:00Z') });
    fc.assert(
      fc.property(instant, fc.nat(10 * 86_400_000), fc.constantFrom('EUR', 'USD'), (one, later, currency) => {
        const day = executionDay(one, currency, BERLIN);
        expect(isBankDay(day, currency, BERLIN.holidays)).toBe(true);
        expect(day >= creationTimeOf(one, { ...BERLIN, creationTime: 'local' }).slice(0, 10)).toBe(true);
        expect(executionDay(one + later, currency, BERLIN) >= day).toBe(true);
      }),
    );
  });
});

describe('the cut-off', () => {
  it('is near in its last minute only', () => {
    const isNear = (text: string) => isCutOffNear(at(text), BERLIN);
    expect(['14:28:59', '14:29:00', '14:29:59', '14:30:00'].map((time) => isNear(`2026-11-26T${time}Z`))).toEqual([
      ...[false, true, true, false],
    ]);
  });
});

describe('the time of a file', () => {
  it.each([
    ['offset', '2026-11-26T15:30:05+01:00'],
    ['utc', '2026-11-26T14:30:05Z'],
    ['local', '2026-11-26T15:30:05'],
  ] as const)('is written as %s', (creationTime, text) => {
    expect(creationTimeOf(at('2026-11-26T14:30:05.678Z'), { ...BERLIN, creationTime })).toBe(text);
  });

  it.each([
    ['UTC', '+00:00'],
    ['Asia/Kolkata', '+05:30'],
    ['America/St_Johns', '-03:30'],
  ])('has the offset of %s', (timeZone, offset) => {
    const text = creationTimeOf(at('2026-11-26T14:30:05Z'), {
      ...DEFAULT_DIALECT,
      cutOff: { time: '15:00', timeZone },
    });
    expect(text.slice(19)).toBe(offset);
    expect(at(text)).toBe(at('2026-11-26T14:30:05Z'));
  });
});
