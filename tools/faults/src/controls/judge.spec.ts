import { judgeAll, judgeRun, judgeSpec, type SpecResult } from './judge.js';

const CATCHER = { spec: 'libs/a/src/a.spec.ts', test: 'keeps the floor' };

function resultOf(...tests: readonly (readonly [string, string])[]): SpecResult {
  const assertionResults = tests.map(([fullName, status]) => ({ fullName, status }));
  return {
    name: '/x/libs/a/src/a.spec.ts',
    status: 'failed',
    message: '● Suite failed\n\n  Cannot find a',
    assertionResults,
  };
}

describe('the verdict on a spec', () => {
  it('is caught by the expected test, if another test passes', () => {
    const result = resultOf(['an account keeps the floor', 'failed'], ['an account opens', 'passed']);

    expect(judgeSpec(CATCHER, result)).toEqual({ verdict: 'caught', by: 'an account keeps the floor' });
  });

  it('is missed if the expected test passes, also if another fails', () => {
    const result = resultOf(['an account keeps the floor', 'passed'], ['an account opens', 'failed']);

    expect(judgeSpec(CATCHER, result)).toMatchObject({ verdict: 'missed' });
  });

  it.each([
    ['has no result', undefined],
    ['did not run', resultOf()],
    ['skipped its tests', resultOf(['an account keeps the floor', 'pending'])],
    ['failed as a whole', resultOf(['an account keeps the floor', 'failed'], ['an account opens', 'failed'])],
  ])('is broken if the spec %s', (_, result) => {
    expect(judgeSpec(CATCHER, result)).toMatchObject({ verdict: 'broken' });
  });

  it('is caught although every test fails, if the failure has the expected message', () => {
    const failure = { fullName: 'an account keeps the floor', status: 'failed', failureMessages: ['Expected: 25'] };
    const result = { ...resultOf(), assertionResults: [failure] };

    expect(judgeSpec({ ...CATCHER, message: 'Expected: 25' }, result)).toMatchObject({ verdict: 'caught' });
    expect(judgeSpec({ ...CATCHER, message: 'Expected: 26' }, result)).toMatchObject({ verdict: 'broken' });
  });

  it('quotes why a suite did not run', () => {
    expect(judgeSpec(CATCHER, resultOf()).by).toBe('the spec did not run: Cannot find a');
  });

  it('is outdated if the expected test is gone', () => {
    const result = resultOf(['an account opens', 'passed']);

    expect(judgeSpec(CATCHER, result)).toMatchObject({ verdict: 'outdated' });
  });
});

describe('the verdict on a run', () => {
  const OUTPUT = `seed 21
Promise  Verdict
database-crashes: 2 violations; log: /tmp/x/client.jsonl
  acknowledged: order f21-7 is missing
  books: BK002
Replay: npm run faults -- P4`;

  it('is caught by the first check with a violation', () => {
    expect(judgeRun(OUTPUT, 1)).toEqual({ verdict: 'caught', by: 'check “acknowledged”' });
  });

  it('is missed without a violation', () => {
    expect(judgeRun('P4  unknown', 0)).toMatchObject({ verdict: 'missed' });
  });

  it('is broken if the run ended early', () => {
    const output = 'database-crashes: 0 violations; log: /tmp/x/client.jsonl\n  ended early: no server';

    expect(judgeRun(output, 1)).toMatchObject({ verdict: 'broken' });
    expect(judgeRun('', 2)).toMatchObject({ verdict: 'broken' });
  });
});

describe('the verdict on a control', () => {
  it('is caught only if everything that must catch it does', () => {
    const caught = { verdict: 'caught', by: 'a' } as const;
    const missed = { verdict: 'missed', by: 'b' } as const;

    expect(judgeAll([caught, { ...caught, by: 'c' }])).toEqual({ verdict: 'caught', by: 'a; c' });
    expect(judgeAll([caught, missed])).toEqual(missed);
  });
});
