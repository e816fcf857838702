const { availableParallelism } = require('node:os');
const { testTimeout } = require('./jest.preset.js');
const { temporaryFolder } = require('./tools/test-run/temporary-folder.cjs');

const folder = temporaryFolder();
if (folder !== undefined) process.env.TMPDIR = folder;

/** All projects in one run: `npx jest verify` runs the specs of every project with that in their path. */
module.exports = {
  projects: ['<rootDir>/{apps,libs,tools}/*/jest.config.cjs'],
  // Jest takes it from here only when projects run together.
  testTimeout,
  testSequencer: '<rootDir>/tools/test-run/sequencer.cjs',
  reporters: ['default', '<rootDir>/tools/test-run/reporter.cjs'],
  // Two workers a core: the specs wait for PostgreSQL and for processes of their own about half of their time.
  maxWorkers: 2 * availableParallelism(),
  // Jest leaks a little with every spec file.
  workerIdleMemoryLimit: '1500MB',
};
