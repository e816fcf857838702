import type { Timestamp } from '@banking/domain';
import * as fc from 'fast-check';
import { runTime, scheduleFaults, type ScheduleInput } from './schedule.js';

const NOW = '2026-11-21T09:30:00.123456Z' as Timestamp;
const RECURRING = {
  type: 'recurring',
  startAt: '2026-12-31T09:00:00+01:00',
  repeatUnit: 'monthly',
  repeatValue: 1,
} as const;

/** The invalid fields, with the reason of each. */
const faultsOf = (input: ScheduleInput, now = NOW) =>
  scheduleFaults(input, now).map(({ path, reason }) => `${path} ${reason}`);

describe('the schedule of an order', () => {
  it.each<[string, ScheduleInput]>([
    ['at once', { type: 'instant' }],
    ['once', { type: 'scheduled', startAt: '2026-11-21T09:30:00.123457Z' }],
    ['again and again', RECURRING],
    ['until a day', { ...RECURRING, stopAt: '2027-12-31T09:00:00+01:00' }],
    ['every 366 days', { ...RECURRING, repeatUnit: 'daily', repeatValue: 366 }],
    ['in a hundred years', { ...RECURRING, startAt: '2126-11-21T09:30:00Z', stopAt: '2126-11-21T09:30:00.123456Z' }],
  ])('is valid if it runs %s', (_, input) => {
    expect(scheduleFaults(input, NOW)).toEqual([]);
  });

  it.each<[string, ScheduleInput, readonly string[]]>([
    [
      'an instant order with a time',
      { ...RECURRING, type: 'instant', stopAt: '2027-12-31T09:00:00Z' },
      ['/startAt not_taken', '/repeatUnit not_taken', '/repeatValue not_taken', '/stopAt not_taken'],
    ],
    ['a scheduled order without a time', { type: 'scheduled' }, ['/startAt required']],
    [
      'a scheduled order that repeats',
      { ...RECURRING, type: 'scheduled' },
      ['/repeatUnit not_taken', '/repeatValue not_taken'],
    ],
    [
      'a recurring order without anything',
      { type: 'recurring' },
      ['/startAt required', '/repeatUnit required', '/repeatValue required'],
    ],
    [
      'no instant',
      { ...RECURRING, startAt: '2026-12-31', stopAt: '2027-02-29T00:00:00Z' },
      ['/startAt timestamp_invalid', '/stopAt timestamp_invalid'],
    ],
    ['a start at this very instant', { ...RECURRING, startAt: '2026-11-21T10:30:00.123456+01:00' }, ['/startAt past']],
    [
      'a start and a stop in the past',
      { ...RECURRING, startAt: '2026-11-20T09:30:00Z', stopAt: '2026-11-20T10:30:00Z' },
      ['/startAt past', '/stopAt past'],
    ],
    ['a stop at the start', { ...RECURRING, stopAt: '2026-12-31T08:00:00Z' }, ['/stopAt before_start']],
    ['a stop before the start', { ...RECURRING, stopAt: '2026-12-31T08:30:00+01:00' }, ['/stopAt before_start']],
    [
      'a start beyond a hundred years',
      { type: 'scheduled', startAt: '2126-11-21T09:30:00.123457Z' },
      ['/startAt too_far_ahead'],
    ],
    ['a stop beyond a hundred years', { ...RECURRING, stopAt: '9999-12-31T23:59:59Z' }, ['/stopAt too_far_ahead']],
    ['never repeated', { ...RECURRING, repeatValue: 0 }, ['/repeatValue out_of_range']],
    ['repeated too seldom', { ...RECURRING, repeatValue: 367 }, ['/repeatValue out_of_range']],
    ['repeated by halves', { ...RECURRING, repeatValue: 1.5 }, ['/repeatValue out_of_range']],
  ])('names the fields at fault if it is %s', (_, input, expected) => {
    expect(faultsOf(input)).toEqual(expected);
  });

  it('describes a fault in a sentence', () => {
    expect(scheduleFaults({ ...RECURRING, stopAt: RECURRING.startAt }, NOW)).toEqual([
      { path: '/stopAt', reason: 'before_start', message: 'stopAt must be after startAt.' },
    ]);
  });

  it('has a first run after now and not after its end, if it is valid', () => {
    const instants = fc
      .tuple(
        fc.date({ min: new Date('2026-11-01'), max: new Date('2140-01-01'), noInvalidDate: true }),
        fc.constantFrom('Z', '+14:00', '-11:30'),
      )
      .map(([date, offset]) => date.toISOString().replace('Z', offset));
    const inputs = fc.record({
      type: fc.constantFrom('scheduled', 'recurring'),
      startAt: instants,
      repeatUnit: fc.option(fc.constantFrom('daily', 'weekly', 'monthly'), { nil: undefined }),
      repeatValue: fc.option(fc.integer({ min: 0, max: 400 }), { nil: undefined }),
      stopAt: fc.option(instants, { nil: undefined }),
    });
    let fine = 0;
    fc.assert(
      fc.property(inputs, (input) => {
        if (scheduleFaults(input, NOW).length > 0) return;
        fine += 1;
        const first = runTime(input, 1);
        expect(Date.parse(first ?? '')).toBeGreaterThan(Date.parse(NOW));
      }),
      { numRuns: 500 },
    );
    expect(fine).toBeGreaterThan(0);
  });
});
