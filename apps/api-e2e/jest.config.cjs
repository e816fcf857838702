module.exports = {
  preset: '../../jest.preset.js',
  displayName: 'api-e2e',
};
