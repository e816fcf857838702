const { makeDemoTemplate } = require('../../tools/test-run/demo-template.cjs');
const { startForTheRun } = require('./dist/service-of-the-run.js');

/** One service for the run, on a database of its own with the demo data. */
module.exports = async () => {
  await makeDemoTemplate();
  globalThis.serviceOfTheRun = await startForTheRun();
};
