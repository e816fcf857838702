const { mkdirSync, writeFileSync } = require('node:fs');
const { join } = require('node:path');

/** Leaves the counts of a run in `test-output/summary.json`, where `npm test` adds them up, also when Nx replays the run from its cache. */
module.exports = class SummaryReporter {
  constructor(globalConfig) {
    this.directory = join(globalConfig.rootDir, 'test-output');
  }

  onRunComplete(_contexts, results) {
    const { numPassedTests: passed, numFailedTests, numFailedTestSuites, numPendingTests: skipped } = results;
    const brokenSuites = results.testResults.filter((suite) => suite.testExecError).length;
    const failed = numFailedTests + (numFailedTests === 0 ? Math.max(brokenSuites, numFailedTestSuites) : brokenSuites);
    mkdirSync(this.directory, { recursive: true });
    writeFileSync(join(this.directory, 'summary.json'), `${JSON.stringify({ passed, failed, skipped })}\n`);
  }
};
