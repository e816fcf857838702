module.exports = {
  preset: '../../jest.preset.js',
  displayName: 'api-e2e',
  globalSetup: '<rootDir>/jest.global-setup.cjs',
  globalTeardown: '<rootDir>/jest.global-teardown.cjs',
};
