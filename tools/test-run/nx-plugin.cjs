const { dirname } = require('node:path');

/** For Nx: every project with a jest.config.cjs has the target `test`. nx.json has its inputs and outputs. */
const createNodes = [
  '{apps,libs,tools}/*/jest.config.cjs',
  (files) =>
    files.map((file) => {
      const targets = { test: { executor: './tools/test-run/executor:jest' } };
      return [file, { projects: { [dirname(file)]: { targets } } }];
    }),
];

module.exports = { name: 'test-run', createNodes };
