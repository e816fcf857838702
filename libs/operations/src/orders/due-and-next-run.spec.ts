import type { Timestamp } from '@banking/domain';
import * as fc from 'fast-check';
import { dueAndNextRun, runTime, type Schedule } from './schedule.js';

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
