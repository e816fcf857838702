module.exports = {
  preset: '../../jest.preset.js',
  displayName: 'house-rules',
  // Specs start other programs, such as eslint and nx.
  testTimeout: 60_000,
};
