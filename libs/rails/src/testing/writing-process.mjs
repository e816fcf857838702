// Writes the files of a rail until there is nothing to do.
import { counted, countFiles, Database, require, runCounted } from './counted-operations.mjs';

await countFiles(['sync', 'writeFile', 'close'], ['open', 'rename', 'copyFile', 'rm', 'mkdir', 'readdir']);
for (const name of ['pipeline', 'read', 'transaction']) Database.prototype[name] = counted(Database.prototype[name]);
const { Iso20022Rail } = require('@banking/rails');

await runCounted((database, { config, leaseMs }) => {
  const rail = new Iso20022Rail(config, database, { leaseMs });
  return () => rail.chores[0].run();
});
