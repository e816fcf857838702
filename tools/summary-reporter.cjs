const { mkdirSync, writeFileSync } = require('node:fs');
const { join } = require('node:path');

/**
 * Leaves the counts of a run in `test-output/summary.json`, where `npm test` adds them up, also when Nx replays the run
 * from its cache. What stops a file from being tested counts as one failed test: it could not load, it holds no test,
 * a hook around its tests threw, its worker died.
 */
module.exports = class SummaryReporter {
  constructor(globalConfig) {
    this.directory = join(globalConfig.rootDir, 'test-output');
  }

  onRunComplete(_contexts, results) {
    const brokenFiles = results.testResults.filter(
      (file) => file.testExecError || (file.failureMessage && file.numFailingTests === 0),
    ).length;
    const summary = {
      passed: results.numPassedTests,
      failed: results.numFailedTests + brokenFiles + (results.runExecError ? 1 : 0),
      skipped: results.numPendingTests + results.numTodoTests,
    };
    mkdirSync(this.directory, { recursive: true });
    writeFileSync(join(this.directory, 'summary.json'), `${JSON.stringify(summary)}\n`);
  }
};
