const { spawn } = require('node:child_process');
const { existsSync, readdirSync, rmSync } = require('node:fs');
const { join } = require('node:path');
const { readSummary, summaryFile, writeSummary } = require('../summary.cjs');

/** For Nx: the tests of one project. */
async function runProject(options, context) {
  const { root } = context.projectsConfigurations.projects[context.projectName];
  const { success } = (await runJest(context.root, [root], options))[root];
  return { success };
}

/**
 * For Nx: the tests of all projects whose results are not in the cache, in one Jest run. The projects share its workers,
 * and its PostgreSQL server, and the longest specs start first, so that all workers end together.
 */
async function runProjects(taskGraph, inputs, _overrides, context) {
  const tasks = Object.values(taskGraph.tasks);
  const rootOf = ({ target }) => context.projectGraph.nodes[target.project].data.root;
  const results = await runJest(context.root, tasks.map(rootOf), inputs[tasks[0].id]);
  return Object.fromEntries(tasks.map((task) => [task.id, results[rootOf(task)]]));
}

/** The result of each project. A run that fails without a failed test fails all of them: none can be trusted. */
async function runJest(workspace, roots, { args = [] }) {
  for (const root of roots) rmSync(join(workspace, summaryFile(root)), { force: true });
  const exitCode = await jest(workspace, ['--passWithNoTests', '--projects', ...roots, ...args]);
  const summaries = roots.map(
    (root) => readSummary(workspace, root) ?? (hasSpecs(workspace, root) ? undefined : noTests(workspace, root)),
  );
  const isExplained = exitCode === 0 || summaries.some((summary) => summary?.failed > 0);
  return Object.fromEntries(
    roots.map((root, index) => {
      const success = isExplained && summaries[index]?.failed === 0;
      return [root, { success, terminalOutput: summaries[index]?.output ?? '' }];
    }),
  );
}

/** Whether Jest runs a spec of the project. A project can leave all of its specs to `npm run prove`. */
function hasSpecs(workspace, root) {
  const folder = join(workspace, root, 'src');
  const names = existsSync(folder) ? readdirSync(folder, { recursive: true }) : [];
  return names.some((name) => /\.spec\.ts$/.test(name) && !/\.prove\.spec\.ts$/.test(name));
}

function noTests(workspace, root) {
  const summary = { passed: 0, failed: 0, skipped: 0, files: [], output: '' };
  writeSummary(workspace, root, summary);
  return summary;
}

function jest(workspace, args) {
  const program = join(workspace, 'node_modules/jest/bin/jest.js');
  const child = spawn(process.execPath, [program, '--config', 'jest.config.cjs', ...args], {
    cwd: workspace,
    stdio: 'inherit',
  });
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => child.kill(signal));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve(code ?? 1));
  });
}

module.exports = { runProject, runProjects };
