import { resolve } from 'node:path';
import { IdBlocks, type Database } from '@banking/postgres';

/** The folder of the books' migrations. */
export const LEDGER_MIGRATIONS = resolve(__dirname, '../migrations');

/** Open books: their database, and reserved ids for the next rows. */
export interface Books {
  readonly database: Database;
  readonly transactionIds: IdBlocks;
  /** A transfer and the balance after it share one id. */
  readonly transferIds: IdBlocks;
  /** Ids of the workspaces' own accounts by `ownAccountKey`: a cache. An id never changes. */
  readonly ownAccounts: Map<string, number>;
}

export function openBooks(database: Database): Books {
  return {
    database,
    transactionIds: new IdBlocks(database, 'transaction_id_seq'),
    transferIds: new IdBlocks(database, 'transfer_id_seq'),
    ownAccounts: new Map(),
  };
}
