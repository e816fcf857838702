const { startTestServer } = require('@banking/postgres/testing');

/** One server for the run, whatever projects are in it. */
module.exports = async () => {
  globalThis.bankingTestServer ??= await startTestServer();
};
