import { existsSync, readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { exitCodeOf } from './arguments.mjs';
import { compile } from './compile.mjs';
import { hasLintCache, keepLintCache, lint } from './lint.mjs';
import { ROOT, run } from './programs.mjs';
import { Tally } from './tally.mjs';

const { readSummary, summaryFile } = createRequire(import.meta.url)('./test-run/summary.cjs');

const USAGE = `Usage: npm test

Checks formatting (prettier), types and build (tsc), lint (eslint) and tests (jest) of all projects.
Nx replays the test results of projects whose files and dependencies are unchanged.

Lists the ten slowest spec files. The last line is "N passed, N failed", with ", N skipped" if tests were skipped.
A check that fails without a failed test, such as formatting, types or lint, counts as one failure.

npm run prove runs the long checks.

Options:
  -h, --help  print this help

Exit codes: 0 success; 1 a check failed; 2 wrong usage.
`;

const format = () => {
  const cache = ['--cache', '--cache-strategy=content', '--cache-location=node_modules/.cache/banking/prettier'];
  return run('prettier/bin/prettier.cjs', ['--check', '--log-level=warn', ...cache, '.'], { heading: 'Formatting' });
};

/** Runs the tests of all projects and adds up their counts. */
async function test(tally) {
  const startedAt = Date.now();
  const style = ['--output-style=static-failures-only', '--nx-bail=false', '--exclude-task-dependencies'];
  const exitCode = await run('nx/dist/bin/nx.js', ['run-many', '--targets', 'test', ...style]);
  const failedBefore = tally.failed;
  for (const { taskId, projectName, status } of tasksSince(startedAt)) {
    const summary = summaryOf(projectName, status === 0 ? 0 : startedAt);
    if (summary !== undefined) tally.addTests(taskId, summary);
    if (status !== 0 && !(summary?.failed > 0)) tally.addFailure(taskId);
    if (status === 0 && summary === undefined) tally.addFailure(`${taskId}: left no counts`);
  }
  if (tally.failed === failedBefore && exitCode !== 0) tally.addFailure('nx did not complete');
  if (tally.failed === failedBefore && tally.passed === 0) tally.addFailure('no test ran');
}

/** The result of each task in the run that began at `startedAt`; none if Nx did not complete. */
function tasksSince(startedAt) {
  const { cacheDir } = createRequire(import.meta.url)('@nx/devkit');
  const file = join(cacheDir, 'run.json');
  if (!existsSync(file)) return [];
  const { run: latest, tasks } = JSON.parse(readFileSync(file, 'utf8'));
  return Date.parse(latest.startTime) >= startedAt ? tasks : [];
}

/**
 * The counts of a project. A task that succeeded wrote them or had them restored by Nx; after one that failed they may
 * still be those of an earlier run, so there they must be younger than this one.
 */
function summaryOf(project, notBefore) {
  const { readCachedProjectGraph } = createRequire(import.meta.url)('@nx/devkit');
  const { root } = readCachedProjectGraph().nodes[project].data;
  const summary = readSummary(ROOT, root);
  return summary && statSync(join(ROOT, summaryFile(root))).mtimeMs >= notBefore ? summary : undefined;
}

async function main(args) {
  const usageExit = exitCodeOf(args, USAGE);
  if (usageExit !== undefined) return usageExit;
  if (!existsSync(join(ROOT, 'node_modules/nx'))) {
    process.stderr.write('The dependencies are not installed. Run npm ci first.\n');
    return 1;
  }

  const tally = new Tally();
  const check = async (name, work) => {
    if ((await work) !== 0) tally.addFailure(name);
  };
  // The compiler uses one core. Without a cache the linter has the other meanwhile; with one it must wait for the types.
  const compiled = compile();
  const linted = hasLintCache() ? compiled.then(() => lint({ heading: 'Lint' })) : lint({ heading: 'Lint' });
  await check('types and build', compiled);
  const others = [check('formatting: run npm run format', format()), check('lint', linted)];
  await Promise.all([test(tally), ...others]);
  if ((await compiled) === 0) keepLintCache();
  return tally.report();
}

process.exitCode = await main(process.argv.slice(2));
