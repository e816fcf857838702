const { existsSync, statfsSync } = require('node:fs');

/** A file system in memory, on Linux. */
const IN_MEMORY = '/dev/shm';
/** A run needs less than 2 GB at any time, half of it the write-ahead log. */
const FREE_BYTES_MIN = 4 * 1024 ** 3;

/**
 * The folder for the temporary files of specs: the one that TMPDIR names, else one in memory where there is space. A run makes
 * and removes hundreds of databases, and the disk would be slower than the tests.
 */
function temporaryFolder() {
  if (process.env.TMPDIR) return process.env.TMPDIR;
  return existsSync(IN_MEMORY) && freeBytes(IN_MEMORY) >= FREE_BYTES_MIN ? IN_MEMORY : undefined;
}

function freeBytes(folder) {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

module.exports = { temporaryFolder };
