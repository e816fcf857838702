import { judge, PROMISES, type ScenarioResult, SCENARIOS } from './promises.js';
import { UNITS } from './scenario.js';

const PROMISE = {
  id: 'P3',
  title: 'Orders survive',
  scenario: 'crashes',
  goals: { kills: 50 },
  checks: ['acknowledged'],
};
const RESULT: ScenarioResult = {
  ...{ scenario: 'crashes', logPath: 'client.jsonl', figures: { kills: 50 }, faults: new Map([['kill-api', 50]]) },
  ...{ wantedFaults: ['kill-api'], operations: 6_000, succeeded: 5_000, violations: [], doubts: [], notes: [] },
};
const LOST = { check: 'acknowledged', detail: 'f1-0-1 was acknowledged, and has no order' };

describe('verdict', () => {
  it('is pass when the figure is reached without a violation, and fail for a violation, also in a short run', () => {
    expect(judge(PROMISE, RESULT)).toMatchObject({ verdict: 'pass', faults: 50, operations: 6_000 });
    const { verdict, note } = judge(PROMISE, { ...RESULT, figures: {}, violations: [LOST] });
    expect(verdict).toBe('fail');
    expect(note).toContain(LOST.detail);
  });

  it.each<[string, Partial<ScenarioResult>]>([
    ['figure not reached', { figures: { kills: 49 } }],
    ['29 % of the operations succeeded', { succeeded: 1_740 }],
    ['0 % of the operations succeeded', { operations: 0, succeeded: 0 }],
    ['not injected: pause-api', { wantedFaults: ['kill-api', 'pause-api'] }],
    ['the run ended early: ECONNREFUSED', { error: 'ECONNREFUSED' }],
    ['faketime is not installed', { doubts: ['faketime is not installed'] }],
    ['other checks failed: money', { violations: [{ check: 'money', detail: 'x' }] }],
  ])('is unknown, because: %s', (note, result) => {
    const row = judge(PROMISE, { ...RESULT, ...result });

    expect(row.verdict).toBe('unknown');
    expect(row.note).toContain(note);
  });
});

describe('the table of promises', () => {
  it.each(PROMISES.map(({ id, scenario, goals }) => [id, scenario, goals] as const))(
    '%s names the scenario %s and figures that runs count',
    (_, scenario, goals) => {
      expect(SCENARIOS.map(({ name }) => name)).toContain(scenario);
      expect(Object.keys(UNITS)).toEqual(expect.arrayContaining(Object.keys(goals)));
      for (const goal of Object.values(goals)) expect(goal).toBeGreaterThan(0);
    },
  );
});
