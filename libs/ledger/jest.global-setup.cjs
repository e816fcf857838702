const { join } = require('node:path');
const { startTestServer } = require('@banking/postgres/testing');

/** One server for the run; its template has the books and nothing of those who use them. */
module.exports = async () => {
  globalThis.bankingTestServer = await startTestServer({ folders: [join(__dirname, 'migrations')] });
};
