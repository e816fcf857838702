import { spawn } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { answerArguments } from './arguments.mjs';

const ROOT = resolve(import.meta.dirname, '..');
const TARGETS = ['lint', 'typecheck', 'build', 'test'];

const USAGE = `Usage: npm test

Checks everything: the formatting (prettier), then lint, typecheck, build and test of every project (nx).
Projects that have not changed are answered from Nx's cache, with the counts of their last run.

The last line is "N passed, N failed", with ", N skipped" where tests were. Tests are counted one by one. A check that
fails without a failed test (formatting, a lint, a type error, a project whose tests could not start) counts as one.

Options:
  -h, --help  print this help

Exit codes: 0 all is well, 1 something failed, 2 misuse.
`;

/** Runs a program of node_modules with our own terminal, and answers its exit code. */
function run(program, args) {
  const env = { ...process.env, NX_DAEMON: 'false' };
  const child = spawn(process.execPath, [join(ROOT, 'node_modules', program), ...args], {
    cwd: ROOT,
    env,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  for (const [signal, code] of Object.entries({ SIGINT: 130, SIGTERM: 143 })) {
    process.once(signal, () => {
      child.kill(signal);
      child.once('exit', () => process.exit(code));
    });
  }
  return new Promise((done, fail) => {
    child.once('error', fail);
    child.once('exit', (code) => {
      process.removeAllListeners('SIGINT');
      process.removeAllListeners('SIGTERM');
      done(code ?? 1);
    });
  });
}

/** What Nx did with each task of the run that began at `startedAt`; undefined when it never got so far. */
function tasksSince(startedAt) {
  const { cacheDir } = createRequire(import.meta.url)('@nx/devkit');
  const file = join(cacheDir, 'run.json');
  if (!existsSync(file)) return undefined;
  const { run, tasks } = JSON.parse(readFileSync(file, 'utf8'));
  return Date.parse(run.startTime) >= startedAt ? tasks : undefined;
}

/**
 * The counts a project's test run left. A task that succeeded wrote them or had them restored by Nx; after one that
 * failed they may still be those of an earlier run, so there they must be younger than this one.
 */
function summaryOf(folder, notBefore) {
  const file = join(ROOT, folder, 'test-output/summary.json');
  if (!existsSync(file) || statSync(file).mtimeMs < notBefore) return undefined;
  return JSON.parse(readFileSync(file, 'utf8'));
}

/** Where each project lives, by name, as Nx cached it during the run. */
function foldersByProject() {
  const { readCachedProjectGraph } = createRequire(import.meta.url)('@nx/devkit');
  const { nodes } = readCachedProjectGraph();
  return new Map(Object.values(nodes).map(({ name, data }) => [name, data.root]));
}

function countTasks(tasks, startedAt, total) {
  const folders = foldersByProject();
  for (const { taskId, target, projectName, status } of tasks) {
    const succeeded = status === 0;
    const summary = target === 'test' ? summaryOf(folders.get(projectName), succeeded ? 0 : startedAt) : undefined;
    total.passed += summary?.passed ?? 0;
    total.skipped += summary?.skipped ?? 0;
    if (summary?.failed > 0) {
      total.failed += summary.failed;
      total.complaints.push(`${taskId}: ${summary.failed} failed`);
    } else if (!succeeded) {
      total.failed += 1;
      total.complaints.push(taskId);
    } else if (target === 'test' && !summary) {
      total.failed += 1;
      total.complaints.push(`${taskId}: left no counts`);
    }
  }
}

async function main(args) {
  const answered = answerArguments(args, USAGE);
  if (answered !== undefined) return answered;
  if (!existsSync(join(ROOT, 'node_modules/nx'))) {
    process.stderr.write('The dependencies are not installed: run npm ci first.\n');
    return 1;
  }

  const total = { passed: 0, failed: 0, skipped: 0, complaints: [] };

  console.log('Formatting');
  const cache = ['--cache', '--cache-strategy=content', '--cache-location=node_modules/.cache/banking/prettier'];
  const formatting = await run('prettier/bin/prettier.cjs', ['--check', '--log-level=warn', ...cache, '.']);
  if (formatting !== 0) {
    total.failed += 1;
    total.complaints.push('formatting: npm run format repairs it');
  }

  const startedAt = Date.now();
  const style = ['--output-style=static-failures-only', '--parallel=2', '--nx-bail=false'];
  const outcome = await run('nx/dist/bin/nx.js', ['run-many', '--targets', TARGETS.join(','), ...style]);
  const tasks = tasksSince(startedAt);
  if (tasks) countTasks(tasks, startedAt, total);

  const foundNothing = total.failed === (formatting === 0 ? 0 : 1);
  if (foundNothing && (outcome !== 0 || total.passed === 0)) {
    total.failed += 1;
    total.complaints.push(outcome === 0 ? 'no test ran' : 'nx did not get through its tasks');
  }

  console.log(['', ...total.complaints.map((complaint) => `✖ ${complaint}`)].join('\n'));
  console.log(`${total.passed} passed, ${total.failed} failed${total.skipped > 0 ? `, ${total.skipped} skipped` : ''}`);
  return total.failed === 0 ? 0 : 1;
}

process.exitCode = await main(process.argv.slice(2));
