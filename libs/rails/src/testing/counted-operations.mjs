// Counts what this process does with files and the database. With `killAt`, it kills itself before or after that operation: no handler runs,
// as with a power failure of the process.
import { createRequire } from 'node:module';

export const require = createRequire(import.meta.url);
const { connection, role, schema, killAt, ...settings } = JSON.parse(process.env['FILE_WORKER'] ?? '{}');

let operations = 0;
function step() {
  operations += 1;
  if (operations === killAt) process.kill(process.pid, 'SIGKILL');
}
export const counted = (call) =>
  async function (...values) {
    step();
    const result = await call.apply(this, values);
    step();
    return result;
  };

/** Counts these methods of open files, and of `node:fs/promises`. */
export async function countFiles(ofHandles, ofFiles) {
  const files = require('node:fs/promises');
  const handle = await files.open(process.execPath, 'r');
  const prototype = Object.getPrototypeOf(handle);
  await handle.close();
  for (const name of ofHandles) prototype[name] = counted(prototype[name]);
  for (const name of ofFiles) files[name] = counted(files[name]);
}

export const { Database } = require('@banking/postgres');

/** Works until nothing is left to do, and prints the number of operations and its largest memory. @param workOn returns one step of the work */
export async function runCounted(workOn) {
  const database = await Database.open({ connection, role, schema, poolSize: 2 });
  operations = 0;
  const work = workOn(database, settings);
  while ((await work()) > 0);
  await database.end();
  console.log(JSON.stringify({ operations, maxRssKb: process.resourceUsage().maxRSS }));
}
