module.exports = {
  preset: '../../jest.preset.js',
  displayName: 'local-issuer',
};
