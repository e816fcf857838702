// Takes the files of a bank until none waits.
import { counted, countFiles, Database, require, runCounted } from './counted-operations.mjs';

await countFiles(['stat', 'read', 'sync', 'writeFile', 'close'], ['open', 'rename', 'lstat', 'mkdir', 'readdir']);
Database.prototype.pipeline = counted(Database.prototype.pipeline);
const { transaction } = Database.prototype;
Database.prototype.transaction = counted(function (options, work) {
  return transaction.call(this, options, (tx) => {
    for (const name of ['pipeline', 'commit']) tx[name] = counted(tx[name]);
    return work(tx);
  });
});
const { BankFiles } = require('../../dist/iso20022/receive-files.js');

await runCounted((database, { config }) => {
  const bankFiles = new BankFiles(database, config);
  return () => bankFiles.readNext();
});
