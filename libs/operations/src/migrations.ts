import { resolve } from 'node:path';

/** The folder of the migrations of directory, recipients, quotes, orders and idempotency records. */
export const OPERATIONS_MIGRATIONS = resolve(__dirname, '../migrations');
