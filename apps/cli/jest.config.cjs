module.exports = {
  preset: '../../jest.preset.js',
  displayName: 'cli',
  globalSetup: '<rootDir>/../../tools/test-run/start-demo-template.cjs',
  globalTeardown: '<rootDir>/../../tools/test-run/stop-demo-template.cjs',
  // Every command is a process, and the first one of a spec makes a database.
  testTimeout: 120_000,
};
