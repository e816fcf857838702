const { join } = require('node:path');
const { startTestServer } = require('@banking/postgres/testing');

/** One server for the run; its template has the tables of this library's own specs. */
module.exports = async () => {
  globalThis.bankingTestServer = await startTestServer({ folders: [join(__dirname, 'test-migrations')] });
};
