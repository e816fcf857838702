module.exports = async () => {
  await globalThis.packagesRun?.stop();
};
