import { resolve } from 'node:path';

/** The migrations of this service. The baseline makes a new database; each later file says for which processes it leaves the database as it is. */
export const MIGRATIONS = { folder: resolve(__dirname, '../migrations'), baseline: 17 };
