const { join } = require('node:path');
const { startTestServer } = require('@banking/postgres/testing');

/** One server for the run; its template has every table and no rows. */
module.exports = async () => {
  const folders = [join(__dirname, '../ledger/migrations'), join(__dirname, 'migrations')];
  globalThis.bankingTestServer = await startTestServer({ folders });
};
