// Writes the files of a rail until there is nothing to do, and prints its largest memory. With `killAt`, it kills itself before or after that
// operation on the file system or the database: no handler runs, as with a power failure of the process.
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const { connection, role, schema, config, leaseMs, killAt } = JSON.parse(process.env['WRITING_PROCESS'] ?? '{}');

let operations = 0;
function step() {
  operations += 1;
  if (operations === killAt) process.kill(process.pid, 'SIGKILL');
}
const counted = (call) =>
  async function (...values) {
    step();
    const result = await call.apply(this, values);
    step();
    return result;
  };

const files = require('node:fs/promises');
const handle = await files.open(process.execPath, 'r');
const prototype = Object.getPrototypeOf(handle);
await handle.close();
for (const name of ['sync', 'writeFile', 'close']) prototype[name] = counted(prototype[name]);
for (const name of ['open', 'rename', 'copyFile', 'rm', 'mkdir', 'readdir']) files[name] = counted(files[name]);

const { Database } = require('@banking/postgres');
for (const name of ['pipeline', 'read', 'transaction']) Database.prototype[name] = counted(Database.prototype[name]);
const { Iso20022Rail } = require('@banking/rails');

const database = await Database.open({ connection, role, schema, poolSize: 2 });
operations = 0;
const rail = new Iso20022Rail(config, database, { leaseMs });
while ((await rail.chores[0].run()) > 0);
await database.end();
console.log(JSON.stringify({ operations, maxRssKb: process.resourceUsage().maxRSS }));
