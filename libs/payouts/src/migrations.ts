import { resolve } from 'node:path';

/** The folder of the migrations of payouts and of the work queue. */
export const PAYOUT_MIGRATIONS = resolve(__dirname, '../migrations');
