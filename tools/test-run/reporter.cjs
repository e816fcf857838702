const { relative, resolve } = require('node:path');
const { writeSummary } = require('./summary.cjs');

const WORKSPACE = resolve(__dirname, '../..');

/**
 * Writes the counts of each project to its `test-output/summary.json`, where `npm test` adds them up, also when Nx replays
 * the result from its cache. A file that could not be tested counts as one failed test: it did not load, it has no test, a
 * hook around its tests threw, or its worker died.
 */
module.exports = class Reporter {
  summaries = new Map();

  onRunStart() {
    this.summaries.clear();
  }

  onTestFileResult(test, result) {
    const summary = this.summaryOf(test.context.config.rootDir);
    const path = relative(WORKSPACE, test.path);
    const isBroken = result.testExecError || (result.failureMessage && result.numFailingTests === 0);
    summary.passed += result.numPassingTests;
    summary.failed += result.numFailingTests + (isBroken ? 1 : 0);
    summary.skipped += result.numPendingTests + result.numTodoTests;
    summary.files.push({ path, ms: result.perfStats.runtime });
    if (result.failureMessage) summary.output += `${path}\n${result.failureMessage}\n`;
  }

  onRunComplete() {
    for (const [rootDir, summary] of this.summaries) writeSummary(WORKSPACE, relative(WORKSPACE, rootDir), summary);
  }

  summaryOf(rootDir) {
    const known = this.summaries.get(rootDir);
    if (known) return known;
    const summary = { passed: 0, failed: 0, skipped: 0, files: [], output: '' };
    this.summaries.set(rootDir, summary);
    return summary;
  }
};
