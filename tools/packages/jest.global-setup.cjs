const { startForTheRun } = require('./dist/run.js');

/** The libraries packed and installed, and a service to call, once for all specs. */
module.exports = async () => {
  globalThis.packagesRun = await startForTheRun();
};
