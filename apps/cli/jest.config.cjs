module.exports = {
  preset: '../../jest.preset.js',
  displayName: 'cli',
  globalSetup: '<rootDir>/../../tools/test-run/start-demo-template.cjs',
  globalTeardown: '<rootDir>/../../tools/test-run/stop-demo-template.cjs',
};
