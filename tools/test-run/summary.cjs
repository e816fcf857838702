const { existsSync, mkdirSync, readFileSync, writeFileSync } = require('node:fs');
const { dirname, join } = require('node:path');

/** Where the counts of a project's last run are, from the top of the workspace. Nx stores them with the result. */
const summaryFile = (root) => join(root, 'test-output/summary.json');

/** Undefined when the project's tests have not run. */
function readSummary(workspace, root) {
  const file = join(workspace, summaryFile(root));
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined;
}

function writeSummary(workspace, root, summary) {
  const file = join(workspace, summaryFile(root));
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(summary)}\n`);
}

module.exports = { readSummary, summaryFile, writeSummary };
