import { resolve } from 'node:path';

/** Where the migrations of payouts and of the queue lie, for whoever prepares a database. */
export const PAYOUT_MIGRATIONS = resolve(__dirname, '../migrations');
