module.exports = async () => {
  await globalThis.bankingTestServer?.stop();
};
