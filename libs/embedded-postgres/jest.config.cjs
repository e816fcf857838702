module.exports = {
  preset: '../../jest.preset.js',
  displayName: 'embedded-postgres',
};
