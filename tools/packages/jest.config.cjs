module.exports = {
  preset: '../../jest.preset.js',
  displayName: 'packages',
  globalSetup: '<rootDir>/jest.global-setup.cjs',
  globalTeardown: '<rootDir>/jest.global-teardown.cjs',
};
