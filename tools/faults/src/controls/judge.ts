import type { SpecCatcher } from './control.js';

/**
 * `caught`: the expected test failed. `missed`: it passed. `outdated`: the sources no longer have the text to replace. `broken`: the
 * fault did not compile, or a suite did not run, so the failure shows nothing.
 */
type Verdict = 'caught' | 'missed' | 'outdated' | 'broken';

export interface Judgement {
  readonly verdict: Verdict;
  /** What caught the fault, or why it is not caught. */
  readonly by: string;
}

/** A spec file in the output of `jest --json`. */
export interface SpecResult {
  readonly name: string;
  readonly status: string;
  readonly message: string;
  readonly assertionResults: readonly TestResult[];
}

interface TestResult {
  readonly fullName: string;
  readonly status: string;
  readonly failureMessages?: readonly string[] | null;
}

/**
 * Judges a spec that ran with the fault.
 *
 * A spec whose tests all fail is `broken`, unless the failure has the expected message: most likely its setup failed, which any fault
 * causes that keeps the service from starting.
 */
export function judgeSpec({ test, message }: SpecCatcher, result: SpecResult | undefined): Judgement {
  const tests = result?.assertionResults.filter(({ status }) => status === 'passed' || status === 'failed') ?? [];
  if (result === undefined || tests.length === 0) {
    return { verdict: 'broken', by: `the spec did not run: ${firstLine(result?.message)}` };
  }
  const expected = tests.filter(({ fullName }) => fullName.includes(test));
  if (expected.length === 0) return { verdict: 'outdated', by: `the spec has no test “${test}”` };
  const failed = expected.filter(({ status }) => status === 'failed');
  if (failed.length === 0) return { verdict: 'missed', by: `“${test}” passed` };
  if (message === undefined && tests.every(({ status }) => status === 'failed')) {
    return { verdict: 'broken', by: 'every test of the spec failed' };
  }
  const caughtBy = failed.find(({ failureMessages }) => (failureMessages ?? []).join('\n').includes(message ?? ''));
  return caughtBy
    ? { verdict: 'caught', by: caughtBy.fullName }
    : { verdict: 'broken', by: `“${test}” failed for another reason` };
}

const VIOLATED = /^\S+: (?:one violation|\d+ violations); log: /m;

/** Judges the output of `npm run faults` that ran with the fault. */
export function judgeRun(output: string, exitCode: number | null): Judgement {
  const check = /^ {2}([a-z-]+): /m.exec(output.slice(output.search(VIOLATED)))?.[1];
  if (exitCode === 1 && check !== undefined && VIOLATED.test(output)) {
    return { verdict: 'caught', by: `check “${check}”` };
  }
  return exitCode === 0
    ? { verdict: 'missed', by: 'the run had no violation' }
    : { verdict: 'broken', by: `the run ended with exit code ${exitCode}` };
}

/** The first judgement that is not `caught`; if there is none, all of them together. */
export function judgeAll(judgements: readonly Judgement[]): Judgement {
  const worst = judgements.find(({ verdict }) => verdict !== 'caught');
  return worst ?? { verdict: 'caught', by: judgements.map(({ by }) => by).join('; ') };
}

const firstLine = (text = '') =>
  text
    .split('\n')
    .map((line) => line.trim())
    .find((line) => line !== '' && !line.startsWith('●')) ?? 'no output';
