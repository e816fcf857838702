const { join, resolve } = require('node:path');

const { MUTATION_PROJECT } = process.env;
const rootDir = join(resolve(__dirname, '../..'), MUTATION_PROJECT);

/** The Jest configuration of a project without its setup: `npm run mutation` starts one server for all mutants. */
module.exports = { ...require(join(rootDir, 'jest.config.cjs')), rootDir, globalSetup: null, globalTeardown: null };
