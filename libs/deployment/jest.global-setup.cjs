const Module = require('node:module');
const { attachEmbeddedServer } = require('@banking/embedded-postgres');
const { ensureEmbeddedLogins } = require('@banking/postgres');
const { administer, makeDataDirTemplate } = require('@banking/postgres/testing');
const { migrateDeployment } = require('./dist/migrate-deployment.js');
const startTestServer = require('../../tools/test-run/start-test-server.cjs');

/** As in the specs, whose module map does not apply here: see jest.config.cjs. */
const programs = process.env.BANKING_TEST_EMBEDDED;
const resolve = Module._resolveFilename;
if (programs) {
  Module._resolveFilename = (name, ...more) =>
    name.startsWith('@embedded-postgres/') ? programs : resolve(name, ...more);
}

/** A server for the run, and a DATA_DIR with the database `home`, which has the schema and no rows. */
module.exports = async () => {
  await startTestServer();
  globalThis.migratedTemplate = await makeDataDirTemplate(async (dataDir) => {
    const server = await attachEmbeddedServer({ dataDir, isReplicated: true });
    const connection = { ...server.connection, database: 'home' };
    try {
      await administer(server.connection, (client) => client.query('create database home'));
      await migrateDeployment({ connection, isSandbox: true });
      await ensureEmbeddedLogins(connection);
    } finally {
      await server.detach();
    }
  }, 'migrated');
};
