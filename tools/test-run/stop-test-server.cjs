module.exports = async () => {
  const server = globalThis.bankingTestServer;
  globalThis.bankingTestServer = undefined;
  await server?.stop();
};
