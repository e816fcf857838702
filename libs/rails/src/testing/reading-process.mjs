// Takes the files of a bank until none waits, and prints its largest memory. With `killAt`, it kills itself before or after that operation on
// the file system or the database: no handler runs, as with a power failure of the process.
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const { connection, role, schema, config, killAt } = JSON.parse(process.env['READING_PROCESS'] ?? '{}');

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
for (const name of ['stat', 'read', 'sync', 'writeFile', 'close']) prototype[name] = counted(prototype[name]);
for (const name of ['open', 'rename', 'lstat', 'mkdir', 'readdir']) files[name] = counted(files[name]);

const { Database } = require('@banking/postgres');
Database.prototype.pipeline = counted(Database.prototype.pipeline);
const { transaction } = Database.prototype;
Database.prototype.transaction = counted(function (options, work) {
  return transaction.call(this, options, (tx) => {
    for (const name of ['pipeline', 'commit']) tx[name] = counted(tx[name]);
    return work(tx);
  });
});
const { BankFiles } = require('../../dist/iso20022/receive-files.js');

const database = await Database.open({ connection, role, schema, poolSize: 2 });
operations = 0;
const bankFiles = new BankFiles(database, config);
while ((await bankFiles.readNext()) > 0);
await database.end();
console.log(JSON.stringify({ operations, maxRssKb: process.resourceUsage().maxRSS }));
