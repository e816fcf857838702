import * as fc from 'fast-check';
import { compareInstants, parseInstant, type RepeatUnit, type Timestamp } from '@banking/domain';
import { sql } from '@banking/postgres/testing';
import { emptyDatabase, type TestDatabase } from '../testing/test-databases.js';
import { dueAndNextRun, runTime, type Schedule, scheduleFaults, type ScheduleInput } from './schedule.js';

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

const two = (value: number) => String(value).padStart(2, '0');
const isLeap = (year: number) => (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;

const lastDay = (year: number, month: number) =>
  month === 2 ? (isLeap(year) ? 29 : 28) : [4, 6, 9, 11].includes(month) ? 30 : 31;

const offsets = fc.oneof(
  fc.constant('Z'),
  fc.tuple(fc.constantFrom('+', '-'), fc.nat(14), fc.nat(59)).map(([sign, h, m]) => `${sign}${two(h)}:${two(m)}`),
);

const days = fc
  .tuple(fc.integer({ min: 1890, max: 2450 }), fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 31 }))
  // The ends of months, more often than at random.
  .map(([year, month, day]) => [year, month, Math.min(day, lastDay(year, month))] as const);

const times = fc
  .tuple(fc.nat(23), fc.nat(59), fc.nat(59), fc.stringMatching(/^(\.[0-9]{1,9})?$/))
  .map(([h, m, s, fraction]) => `${two(h)}:${two(m)}:${two(s)}${fraction}`);

const anchors = fc
  .tuple(days, times, offsets)
  .map(([[year, month, day], time, offset]) => ({ year, month, day, time, offset }));

const startAt = ({
  year,
  month,
  day,
  time,
  offset,
}: {
  year: number;
  month: number;
  day: number;
  time: string;
  offset: string;
}) => `${year}-${two(month)}-${two(day)}T${time}${offset}`;

const units = fc.constantFrom<RepeatUnit>('daily', 'weekly', 'monthly');
const values = fc.integer({ min: 1, max: 366 });
const sequences = fc.integer({ min: 1, max: 60 });

const schedules = fc
  .tuple(anchors, units, values)
  .map(([anchor, repeatUnit, repeatValue]): Schedule => ({ startAt: startAt(anchor), repeatUnit, repeatValue }));

const order = (left: string, right: string) => compareInstants(parseInstant(left), parseInstant(right));

/** The local date and time of a run at the offset of the anchor, with the fraction of the response. */
function localTimeOf(at: Timestamp | undefined, offset: string) {
  if (at === undefined) throw new Error('there is no such run');
  const { offsetSeconds } = parseInstant(`2000-01-01T00:00:00${offset}`);
  const shown = new Date(Date.parse(`${at.slice(0, 19)}Z`) + offsetSeconds * 1000).toISOString();
  return {
    year: Number(shown.slice(0, 4)),
    month: Number(shown.slice(5, 7)),
    day: Number(shown.slice(8, 10)),
    time: shown.slice(11, 19),
    fraction: at.slice(20, -1),
  };
}

describe('the runs of an order', () => {
  it('are in order of time', () => {
    fc.assert(
      fc.property(schedules, sequences, (schedule, sequence) => {
        const [at, following] = [runTime(schedule, sequence), runTime(schedule, sequence + 1)];
        return at !== undefined && following !== undefined && order(at, following) < 0;
      }),
    );
  });

  it('begin at startAt, to the last digit', () => {
    fc.assert(fc.property(schedules, (schedule) => order(runTime(schedule, 1) as string, schedule.startAt) === 0));
  });

  it('have the time of day of the anchor at its offset, to the last digit', () => {
    fc.assert(
      fc.property(anchors, units, values, sequences, (anchor, repeatUnit, repeatValue, sequence) => {
        const at = runTime({ startAt: startAt(anchor), repeatUnit, repeatValue }, sequence);
        const { time, fraction } = localTimeOf(at, anchor.offset);
        const [whole = '', digits = ''] = anchor.time.split('.');
        expect({ time, fraction }).toEqual({ time: whole, fraction: digits.padEnd(3, '0') });
      }),
    );
  });

  it('are monthly on the anchor’s day, or on the last day of a shorter month', () => {
    fc.assert(
      fc.property(anchors, values, sequences, (anchor, repeatValue, sequence) => {
        const at = runTime({ startAt: startAt(anchor), repeatUnit: 'monthly', repeatValue }, sequence);
        const { year, month, day } = localTimeOf(at, anchor.offset);
        const months = (sequence - 1) * repeatValue;
        expect(year * 12 + month).toBe(anchor.year * 12 + anchor.month + months);
        expect(day).toBe(Math.min(anchor.day, lastDay(year, month)));
      }),
    );
  });

  it('of every third number are those of a schedule with three times the interval', () => {
    fc.assert(
      fc.property(schedules, fc.integer({ min: 1, max: 12 }), sequences, (schedule, times, sequence) => {
        const slower = { ...schedule, repeatValue: (schedule.repeatValue ?? 1) * times };
        expect(runTime(slower, sequence)).toBe(runTime(schedule, (sequence - 1) * times + 1));
      }),
    );
  });

  it('are the same if days or weeks are counted from any of them', () => {
    fc.assert(
      fc.property(schedules, sequences, sequences, ({ startAt, repeatValue }, first, then) => {
        const schedule = { startAt, repeatUnit: 'daily', repeatValue } as const;
        const onwards = { ...schedule, startAt: runTime(schedule, first) as string };
        expect(runTime(onwards, then)).toBe(runTime(schedule, first + then - 1));
      }),
    );
  });

  it('are seven days apart if they are weekly', () => {
    fc.assert(
      fc.property(schedules, sequences, ({ startAt, repeatValue = 1 }, sequence) => {
        const weekly = runTime({ startAt, repeatUnit: 'weekly', repeatValue }, sequence);
        expect(weekly).toBe(runTime({ startAt, repeatUnit: 'daily', repeatValue: 7 * repeatValue }, sequence));
      }),
    );
  });

  it.each<[string, Schedule, readonly (string | undefined)[]]>([
    [
      'the 31st, in a common year and in a leap year',
      { startAt: '2027-12-31T09:30:00Z', repeatUnit: 'monthly', repeatValue: 1 },
      [
        '2027-12-31T09:30:00.000Z',
        '2028-01-31T09:30:00.000Z',
        '2028-02-29T09:30:00.000Z',
        '2028-03-31T09:30:00.000Z',
        '2028-04-30T09:30:00.000Z',
      ],
    ],
    [
      '29 February in centuries that are no leap years and in one that is',
      { startAt: '1896-02-29T00:00:00Z', repeatUnit: 'monthly', repeatValue: 48 },
      ['1896-02-29T00:00:00.000Z', '1900-02-28T00:00:00.000Z', '1904-02-29T00:00:00.000Z'],
    ],
    [
      '29 February every hundred years',
      { startAt: '2000-02-29T00:00:00Z', repeatUnit: 'monthly', repeatValue: 1200 },
      [
        '2000-02-29T00:00:00.000Z',
        '2100-02-28T00:00:00.000Z',
        '2200-02-28T00:00:00.000Z',
        '2300-02-28T00:00:00.000Z',
        '2400-02-29T00:00:00.000Z',
      ],
    ],
    [
      'an evening that is already the next month in UTC',
      { startAt: '2026-01-31T23:30:00.123456-05:00', repeatUnit: 'monthly', repeatValue: 1 },
      ['2026-02-01T04:30:00.123456Z', '2026-03-01T04:30:00.123456Z', '2026-04-01T04:30:00.123456Z'],
    ],
    [
      'one that runs once',
      { startAt: '2026-12-01T08:00:00+01:00' },
      ['2026-12-01T07:00:00.000Z', undefined, undefined],
    ],
    [
      'a stop at exactly a run',
      { startAt: '2026-12-01T08:00:00+01:00', repeatUnit: 'weekly', repeatValue: 2, stopAt: '2026-12-15T07:00:00Z' },
      ['2026-12-01T07:00:00.000Z', '2026-12-15T07:00:00.000Z', undefined],
    ],
    [
      'a stop a nanosecond before a run',
      {
        startAt: '2026-12-01T08:00:00Z',
        repeatUnit: 'daily',
        repeatValue: 1,
        stopAt: '2026-12-02T07:59:59.999999999Z',
      },
      ['2026-12-01T08:00:00.000Z', undefined],
    ],
    [
      'the last day of all',
      { startAt: '9999-12-30T23:00:00-01:00', repeatUnit: 'daily', repeatValue: 1 },
      ['9999-12-31T00:00:00.000Z', undefined, undefined],
    ],
  ])('are as expected for %s', (_, schedule, expected) => {
    expect(expected.map((__, index) => runTime(schedule, index + 1))).toEqual(expected);
  });

  it('have no time beyond the last year of four digits', () => {
    const schedule = { startAt: '2026-12-01T08:00:00Z', repeatUnit: 'monthly', repeatValue: 366 } as const;

    expect(runTime(schedule, Number.MAX_SAFE_INTEGER)).toBeUndefined();
  });

  it.each(['2026-12-01T08:00:00', '2026-02-29T08:00:00Z', '2026-12-01', ''])(
    'throw an Error for the anchor %j, which is no instant',
    (anchor) => {
      expect(() => runTime({ startAt: anchor }, 1)).toThrow('not an instant');
    },
  );

  it.each([0, -1, 1.5, Number.NaN])('throw an Error for run %d', (sequence) => {
    expect(() => runTime({ startAt: '2026-12-01T08:00:00Z' }, sequence)).toThrow('not the number of a run');
  });
});

describe('the calendar of PostgreSQL', () => {
  let world: TestDatabase;

  beforeAll(async () => {
    world = await emptyDatabase();
  });
  afterAll(() => world.close());

  it('has the same dates of daily, weekly and monthly runs', async () => {
    const samples = fc.sample(fc.tuple(anchors, units, values, sequences), 1_000);
    const rows = await world.database.read(
      {},
      sql<{ dates: string[] }>(
        `select array_agg(to_char(day::timestamp + count * ('1 ' || unit)::interval, 'YYYY-MM-DD') order by row) as dates
         from unnest($1::date[], $2::text[], $3::int[]) with ordinality as sample (day, unit, count, row)`,
        samples.map(([{ year, month, day }]) => `${year}-${two(month)}-${two(day)}`),
        samples.map(([, unit]) => ({ daily: 'day', weekly: 'week', monthly: 'month' })[unit]),
        samples.map(([, , value, sequence]) => value * (sequence - 1)),
      ),
    );

    const ours = samples.map(([anchor, repeatUnit, repeatValue, sequence]) => {
      const at = runTime({ startAt: startAt(anchor), repeatUnit, repeatValue }, sequence);
      const { year, month, day } = localTimeOf(at, anchor.offset);
      return `${year}-${two(month)}-${two(day)}`;
    });
    expect(ours).toEqual(rows?.dates);
  });
});

const instants = fc.date({ min: new Date('2000-01-01'), max: new Date('2100-01-01'), noInvalidDate: true });

describe('dueAndNextRun', () => {
  const schedules = fc.record({
    startAt: instants.map((date) => date.toISOString().replace('Z', '+05:30')),
    repeatUnit: fc.constantFrom('daily', 'weekly', 'monthly'),
    repeatValue: fc.integer({ min: 1, max: 366 }),
  });
  /** Some runs on, and about a day before or after one of them. */
  const moments = fc
    .tuple(schedules, fc.nat(40), fc.nat(60), fc.integer({ min: -100_000, max: 100_000 }))
    .map(([schedule, last, until, shift]) => {
      const near = Date.parse(runTime(schedule, Math.max(last, 1) + until) ?? '');
      return { schedule, last, now: new Date(near + shift * 1000).toISOString() as Timestamp };
    });

  it('returns the latest run that is not after now, and the run after it', () => {
    fc.assert(
      fc.property(moments, ({ schedule, last, now }) => {
        const passed = [];
        for (let n = last + 1; (runTime(schedule, n) ?? '') <= now; n += 1) passed.push(n);
        const { due, next } = dueAndNextRun(schedule, last, now);
        expect(due?.sequence).toBe(passed.at(-1));
        expect(next?.sequence).toBe((passed.at(-1) ?? last) + 1);
        for (const run of [due, next]) if (run) expect(run.at).toBe(runTime(schedule, run.sequence));
      }),
    );
  });

  it('returns no due run and the same next run once the due run took place', () => {
    fc.assert(
      fc.property(moments, ({ schedule, last, now }) => {
        const { due, next } = dueAndNextRun(schedule, last, now);
        expect(dueAndNextRun(schedule, due?.sequence ?? last, now)).toEqual({ next });
      }),
    );
  });

  const DAILY = { startAt: '2026-12-01T08:00:00+01:00', repeatUnit: 'daily', repeatValue: 1 } as const;
  const run = (sequence: number, at: string) => ({ sequence, at });

  it.each<[string, Schedule, number, string, ReturnType<typeof run> | undefined, ReturnType<typeof run> | undefined]>([
    ['nothing has come yet', DAILY, 0, '2026-12-01T06:59:59.999999Z', undefined, run(1, '2026-12-01T07:00:00.000Z')],
    [
      'the instant has come',
      DAILY,
      0,
      '2026-12-01T07:00:00.000Z',
      run(1, '2026-12-01T07:00:00.000Z'),
      run(2, '2026-12-02T07:00:00.000Z'),
    ],
    [
      'three were missed',
      DAILY,
      2,
      '2026-12-05T12:00:00.000Z',
      run(5, '2026-12-05T07:00:00.000Z'),
      run(6, '2026-12-06T07:00:00.000Z'),
    ],
    [
      'the clock is behind the last run',
      DAILY,
      3,
      '2026-12-02T12:00:00.000Z',
      undefined,
      run(4, '2026-12-04T07:00:00.000Z'),
    ],
    [
      'it was down until after the stop',
      { ...DAILY, stopAt: '2026-12-04T07:00:00Z' },
      2,
      '2027-01-01T00:00:00.000Z',
      run(4, '2026-12-04T07:00:00.000Z'),
      undefined,
    ],
    ['all have run', { ...DAILY, stopAt: '2026-12-04T07:00:00Z' }, 4, '2027-01-01T00:00:00.000Z', undefined, undefined],
    [
      'it is to run once',
      { startAt: DAILY.startAt },
      0,
      '2027-01-01T00:00:00.000Z',
      run(1, '2026-12-01T07:00:00.000Z'),
      undefined,
    ],
    ['it has run once', { startAt: DAILY.startAt }, 1, '2027-01-01T00:00:00.000Z', undefined, undefined],
  ])('returns the due and the next run if %s', (_, schedule, last, now, due, next) => {
    expect(dueAndNextRun(schedule, last, now as Timestamp)).toEqual({ ...(due && { due }), ...(next && { next }) });
  });
});
