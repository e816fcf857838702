import { IdBlocks, type Database } from '@banking/postgres';

/** Open books: their database, and reserved ids for the next rows. */
export interface Books {
  readonly database: Database;
  readonly transactionIds: IdBlocks;
  /** A transfer and the balance after it share one id. */
  readonly transferIds: IdBlocks;
  /** Ids of the workspaces' own accounts by `ownAccountKey`: a cache. An id never changes. */
  readonly ownAccounts: Map<string, number>;
}

/** A batch of 64 payments with fee takes 256 ids. A block of several batches is fetched while they are posted. */
const TRANSFER_IDS = 2_048;

export function openBooks(database: Database): Books {
  return {
    database,
    transactionIds: new IdBlocks(database, 'transaction_id_seq'),
    transferIds: new IdBlocks(database, 'transfer_id_seq', TRANSFER_IDS),
    ownAccounts: new Map(),
  };
}
