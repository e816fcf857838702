const preset = require('../../jest.preset.js');
const onPostgres = require('../../tools/test-run/on-postgres.cjs');

/** A second opinion on CLABEs, for the tests only, that is published as an ES module only. */
const secondOpinion = preset.transformIgnorePatterns.map((pattern) => pattern.replace('(?!(', '(?!(clabe-validator|'));

module.exports = {
  preset: '../../jest.preset.js',
  displayName: 'reference',
  transformIgnorePatterns: secondOpinion,
  ...onPostgres(),
};
