/** Connections, pipelines of statements, database transactions and migrations. Knows no banking. */

export { DatabaseError } from 'pg';

// Statements and their results
export {
  bind,
  byteaOf,
  compositeOf,
  lookup,
  sqlStatement,
  type BoundStatement,
  type RowsOfEach,
  type SqlStatement,
} from './sql-statement.js';

// The database
export { Database, type DatabaseOptions, type DbTransaction } from './database.js';
export type { ConnectionOptions } from './session-pool.js';
export type { ReplicaOptions } from './replica-reads.js';
export { bisect, BatchedCalls } from './batched-calls.js';
export { IdBlocks } from './id-blocks.js';
export {
  CommitInDoubtError,
  DatabaseEncodingError,
  DatabaseSetupError,
  isServedElsewhere,
  isUnavailable,
  sqlstateOf,
  unavailable,
} from './failures.js';
export { RULE_VIOLATION, SQLSTATE } from './sqlstate.js';
export { backoffMs, type Backoff, type RetryPolicy, RETRY_POLICIES } from './backoff.js';

// For metrics and traces
export { batchedCallChannel, callBatchChannel, connectionChannel, pipelineChannel, retryChannel } from './channels.js';
export type { CallBatchMessage, ConnectionMessage, PipelineMessage, RetryMessage } from './channels.js';

// Its schema
export {
  migrate,
  MigrationError,
  pendingMigrations,
  planMigrations,
  type MigrationPlan,
  requireSupport,
} from './migrate.js';
export { type MigrationFolder, readMigrations } from './migration-files.js';
export { describeProcesses, olderThan, readProcessesWithoutCells } from './older-processes.js';
export { applicationNameOf, isAtLeast } from './release.js';
export { type ScopeCheck, type ScopeSettings, scopesOf } from './rls-scope.js';
export { readTable, type AdminSession, quoteName, withAdminSession } from './admin-session.js';
export { withNewSlot } from './exported-slot.js';
export { addEmbeddedOperator, ensureEmbeddedLogins } from './migration-roles.js';
export * from './names.js';
