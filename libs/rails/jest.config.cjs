const onPostgres = require('../../tools/test-run/on-postgres.cjs');

module.exports = {
  preset: '../../jest.preset.js',
  displayName: 'rails',
  ...onPostgres(),
};
