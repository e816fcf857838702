module.exports = {
  preset: '../../jest.preset.js',
  displayName: 'payouts',
  globalSetup: '<rootDir>/jest.global-setup.cjs',
  globalTeardown: '<rootDir>/jest.global-teardown.cjs',
  // A real server answers, on a machine that may be busy.
  testTimeout: 30_000,
};
