const { join } = require('node:path');
const { startTestServer } = require('@banking/postgres/testing');

/** One server for the run; its template has every table and no rows. */
module.exports = async () => {
  const folders = ['../ledger/migrations', '../operations/migrations', 'migrations'].map((path) =>
    join(__dirname, path),
  );
  globalThis.bankingTestServer = await startTestServer({ folders, parameters: { 'banking.sandbox': 'on' } });
};
