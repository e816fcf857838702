import { resolve } from 'node:path';
import { IdBlocks, type Database } from '@banking/postgres';

/** Where the books' migrations lie, for whoever prepares a database. */
export const LEDGER_MIGRATIONS = resolve(__dirname, '../migrations');

/** Open books: the database they are kept in, and the ids reserved for what is written next. */
export interface Books {
  readonly database: Database;
  readonly transactionIds: IdBlocks;
  /** Transfers and the balances they leave behind share their ids. */
  readonly transferIds: IdBlocks;
  /** Ids of our own accounts, which never change once opened. Filled as they are met. */
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
