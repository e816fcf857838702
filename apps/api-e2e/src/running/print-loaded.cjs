// Preloaded into a process: prints the files that it has loaded when it ends.
process.once('exit', () => {
  process.stderr.write(`loaded: ${Object.keys(require.cache).join(' ')}\n`);
});
