import type { ServicePromise } from './promises.js';
import { failureText, tableOf } from './report.js';
import { isReached, judge, type ScenarioResult } from './verdict.js';

const PROMISE: ServicePromise = {
  ...{ id: 'P3', title: 'Acknowledged orders survive', scenario: 'crashes' },
  goals: { kills: 50, acknowledged: 5_000 },
  checks: ['acknowledged'],
};
const RESULT: ScenarioResult = {
  ...{ scenario: 'crashes', seconds: 60, logPath: 'client.jsonl' },
  figures: { kills: 50, acknowledged: 5_000 },
  faults: new Map([['kill-api', 50]]),
  wantedFaults: ['kill-api'],
  ...{ operations: 6_000, succeeded: 5_000, violations: [], doubts: [] },
};
const LOST = { check: 'acknowledged', detail: 'f1-0-1 was acknowledged, and has no order' } as const;

describe('verdict', () => {
  it('is pass when the figure is reached without a violation', () => {
    expect(judge(PROMISE, RESULT)).toMatchObject({ verdict: 'pass', faults: 50, operations: 6_000 });
  });

  it('is fail for a violation, also in a short run', () => {
    const result = { ...RESULT, figures: {}, violations: [LOST] };

    expect(judge(PROMISE, result)).toMatchObject({ verdict: 'fail', violations: [LOST] });
    expect(judge(PROMISE, result).note).toContain(LOST.detail);
  });

  it('is unknown when the run violated a check of another promise', () => {
    const row = judge({ ...PROMISE, checks: ['money'] }, { ...RESULT, violations: [LOST] });

    expect(row).toMatchObject({ verdict: 'unknown', violations: [] });
    expect(row.note).toContain('other checks failed: acknowledged');
  });

  it.each<[string, Partial<ScenarioResult>, Partial<ServicePromise>]>([
    ['figure not reached', { figures: { kills: 50, acknowledged: 4_999 } }, {}],
    ['29 % of the operations succeeded', { succeeded: 1_740 }, {}],
    ['0 % of the operations succeeded', { operations: 0, succeeded: 0 }, {}],
    ['not injected: pause-api', { wantedFaults: ['kill-api', 'pause-api'] }, {}],
    ['the run ended early: ECONNREFUSED', { error: 'ECONNREFUSED' }, {}],
    ['faketime is not installed', { doubts: ['faketime is not installed'] }, {}],
    ['not measured: readiness', {}, { notMeasured: 'readiness' }],
  ])('is unknown, because: %s', (note, result, promise) => {
    const row = judge({ ...PROMISE, ...promise }, { ...RESULT, ...result });

    expect(row.verdict).toBe('unknown');
    expect(row.note).toContain(note);
  });
});

describe('end of a scenario', () => {
  it('comes when every promise has its figures', () => {
    expect(isReached([PROMISE], { kills: 50, acknowledged: 5_000 })).toBe(true);
    expect(isReached([PROMISE], { kills: 50 })).toBe(false);
    expect(isReached([PROMISE, { ...PROMISE, goals: { reads: 1 } }], RESULT.figures)).toBe(false);
  });

  it('does not wait for what only the final checks count', () => {
    expect(isReached([{ ...PROMISE, goals: { refusedChanges: 15 } }], {})).toBe(true);
  });
});

describe('report', () => {
  it('has one line for each promise, with faults, operations, violations and verdict', () => {
    const lines = tableOf([judge(PROMISE, RESULT), judge(PROMISE, { ...RESULT, violations: [LOST] })]).split('\n');

    expect(lines).toHaveLength(4);
    expect(lines[2]).toMatch(/^P3 Acknowledged orders survive +50 +6000 +0 +pass +50 of 50 kills, 5000 of 5000 /);
    expect(lines[3]).toMatch(/^P3 .* 1 +fail +f1-0-1 was acknowledged/);
  });

  it('names violations, logs and the command that repeats the run', () => {
    const failed = [
      { ...RESULT, violations: [LOST] },
      { ...RESULT, scenario: 'bank', error: 'ECONNREFUSED' },
    ];

    const text = failureText(failed, 'npm run faults -- P3 --seed 7');

    expect(text).toContain(`crashes: one violation; log: client.jsonl\n  acknowledged: ${LOST.detail}`);
    expect(text).toContain('bank: 0 violations; log: client.jsonl\n  ended early: ECONNREFUSED');
    expect(text).toContain('Replay: npm run faults -- P3 --seed 7');
  });
});
