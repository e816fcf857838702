import { existsSync, readFileSync, rmSync } from 'node:fs';
import { applyChanges, OutdatedError } from './apply-changes.js';
import { argumentsOf, type Catcher, type Control, isRun, nameOf, type RunCatcher, specsOf } from './control.js';
import { judgeAll, type Judgement, judgeRun, judgeSpec, type SpecResult } from './judge.js';
import { runProgram, type ProgramResult } from './run-program.js';
import type { WorkspaceCopy } from './workspace-copy.js';

/** Where the catchers run. */
export interface Bench {
  readonly copy: WorkspaceCopy;
  /** Of the PostgreSQL server for the specs. */
  readonly databaseUrl: string;
  readonly signal: AbortSignal;
}

const COMPILE_MS = 5 * 60_000;
const SPECS_MS = 6 * 60_000;
/** Starting and the final checks of a run, beyond its time of load and faults. */
const RUN_EXTRA_MS = 5 * 60_000;

/** Plants the fault of a control, runs its catchers, and removes the fault. */
export async function tryControl(bench: Bench, control: Control): Promise<Judgement> {
  const { copy } = bench;
  let texts: Map<string, string>;
  try {
    texts = applyChanges(control.changes, (file) => copy.read(file));
  } catch (error) {
    if (!(error instanceof OutdatedError)) throw error;
    return { verdict: 'outdated', by: error.message };
  }
  const before = [...texts.keys()].map((file) => [file, copy.read(file)] as const);
  const restores = (control.compiles ?? []).map((project) => copy.saveBuild(project));
  try {
    for (const [file, text] of texts) copy.write(file, text);
    const failure = await compile(bench, control.compiles ?? []);
    return failure ?? (await judgeCatchers(bench, control));
  } finally {
    for (const [file, text] of before) copy.write(file, text);
    for (const restore of restores) restore();
  }
}

/** Runs the catchers of all controls without a fault. Returns why those that fail cannot be trusted, by `nameOf`. */
export async function runUnpatched(bench: Bench, controls: readonly Control[]): Promise<ReadonlyMap<string, string>> {
  const failures = new Map<string, string>();
  const specs = specsOf(controls);
  const results = specs.length === 0 ? [] : await runSpecs(bench, specs);
  for (const spec of specs) {
    const result = resultOf(results, spec);
    if (result?.status === 'passed') continue;
    const failed = result?.assertionResults.find(({ status }) => status === 'failed');
    failures.set(spec, `${spec} fails without a fault: ${failed?.fullName ?? 'it did not run'}`);
  }
  const runs = new Map(controls.flatMap(({ caughtBy }) => caughtBy.filter(isRun)).map((run) => [nameOf(run), run]));
  for (const [name, run] of runs) {
    const { exitCode } = await runFaults(bench, run);
    if (exitCode !== 0) failures.set(name, `the run ${name} fails without a fault`);
  }
  return failures;
}

async function compile(bench: Bench, compiled: readonly string[]): Promise<Judgement | undefined> {
  if (compiled.length === 0) return undefined;
  const projects = compiled.map((project) => `${project}/tsconfig.build.json`);
  const { exitCode, output } = await start(bench, ['typescript/bin/tsc', '--build', ...projects], COMPILE_MS);
  return exitCode === 0 ? undefined : { verdict: 'broken', by: `it does not compile: ${output.trim().split('\n')[0]}` };
}

async function judgeCatchers(bench: Bench, control: Control): Promise<Judgement> {
  const specs = specsOf([control]);
  const results = specs.length === 0 ? [] : await runSpecs(bench, specs);
  const judgements: Judgement[] = [];
  for (const catcher of control.caughtBy) judgements.push(await judgeCatcher(bench, catcher, results));
  return judgeAll(judgements);
}

async function judgeCatcher(bench: Bench, catcher: Catcher, results: readonly SpecResult[]): Promise<Judgement> {
  if (!isRun(catcher)) return judgeSpec(catcher, resultOf(results, catcher.spec));
  const { output, exitCode, isTimedOut } = await runFaults(bench, catcher);
  if (isTimedOut) return { verdict: 'broken', by: 'the run did not end in time' };
  return judgeRun(output, exitCode);
}

const resultOf = (results: readonly SpecResult[], spec: string) =>
  results.find(({ name }) => name.endsWith(`/${spec}`));

/** Runs spec files whole, so that a fault that breaks everything differs from one that breaks a rule. */
async function runSpecs(bench: Bench, specs: readonly string[]): Promise<readonly SpecResult[]> {
  const { copy } = bench;
  const file = copy.path('tmp/results.json');
  rmSync(file, { force: true });
  const projects = new Set(specs.map((spec) => spec.split('/').slice(0, 2).join('/')));
  await start(
    bench,
    [
      ...['jest/bin/jest.js', '--json', `--outputFile=${file}`, '--silent', '--maxWorkers=2', '--reporters=default'],
      ...[`--cacheDirectory=${copy.path('tmp/jest')}`],
      ...['--projects', ...projects, '--runTestsByPath', ...specs.map((spec) => copy.path(spec))],
    ],
    SPECS_MS,
  );
  if (!existsSync(file)) return [];
  return (JSON.parse(readFileSync(file, 'utf8')) as { testResults: readonly SpecResult[] }).testResults;
}

const runFaults = (bench: Bench, run: RunCatcher): Promise<ProgramResult> =>
  startIn(
    bench,
    [bench.copy.path('tools/faults/dist/main.js'), ...argumentsOf(run)],
    run.run.minutes * 60_000 + RUN_EXTRA_MS,
  );

/** Starts a program of node_modules. */
const start = (bench: Bench, [program = '', ...args]: readonly string[], limitMs: number): Promise<ProgramResult> =>
  startIn(bench, [bench.copy.path('node_modules', program), ...args], limitMs);

function startIn(
  { copy, databaseUrl, signal }: Bench,
  args: readonly string[],
  limitMs: number,
): Promise<ProgramResult> {
  const { PATH, HOME } = process.env;
  const env = { PATH, HOME, CI: 'true', FORCE_COLOR: '0', TMPDIR: copy.path('tmp'), DATABASE_URL: databaseUrl };
  return runProgram(args, { cwd: copy.folder, env, limitMs, signal });
}
