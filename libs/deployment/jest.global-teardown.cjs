const stopTestServer = require('../../tools/test-run/stop-test-server.cjs');

module.exports = async () => {
  await globalThis.migratedTemplate?.remove();
  await stopTestServer();
};
