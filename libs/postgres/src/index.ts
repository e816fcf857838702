/** Connections, statements in flights, database transactions, migrations and the embedded server. Knows no banking. */

export { DatabaseError } from 'pg';

// Statements and what they answer
export { bind, statement, type Bound, type Statement } from './statement.js';

// The database
export { Database, type DatabaseOptions } from './database.js';
export type { ConnectionOptions } from './session-pool.js';
export type { Tx } from './tx.js';
export { bisect } from './bisect.js';
export { IdBlocks } from './id-blocks.js';
export { CommitInDoubtError, DatabaseSetupError } from './failures.js';

// Its schema
export { migrate, MigrationError, pendingMigrations } from './migrate.js';
export { readTable } from './read-table.js';
export { analyzeTables } from './analyze-tables.js';
export { ensureEmbeddedLogins } from './ensure-login.js';
export { APP_ROLE, EMBEDDED_LOGIN, EMBEDDED_OPERATOR_LOGIN, OWNER_ROLE, PROVISIONING_ROLE, SCHEMA } from './names.js';

// A server of our own
export * from './embedded/index.js';
