module.exports = {
  preset: '../../jest.preset.js',
  displayName: 'worker',
  // Each start is a process, and the first one of a spec makes a database.
  testTimeout: 120_000,
};
