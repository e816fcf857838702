import { Refusal, RETRY_AFTER_S } from '@banking/domain';
import { DatabaseError } from 'pg';
import { RULE_VIOLATION, SQLSTATE, SQLSTATE_CLASS } from './sqlstate.js';

/** What came back when every statement of a pipeline was carried out. */
export interface PipelineResults {
  /** The rows of each statement, in order. */
  readonly rows: readonly Record<string, unknown>[][];
  /** The command tag of each statement, such as `COMMIT` or `INSERT 0 1`. */
  readonly tags: readonly string[];
}

/** The settings of the server or of this program would lose data or lift a constraint. The message states what to change. */
export class DatabaseSetupError extends Error {
  override readonly name: string = 'DatabaseSetupError';
}

export const ENCODING = 'UTF8';

export const TRIGGERS_OFF =
  'Triggers and foreign keys would have no effect: set session_replication_role = origin for the server, the database and the login.';

/** The database stores other characters than those of Unicode, or bytes that it does not check. */
export class DatabaseEncodingError extends DatabaseSetupError {
  override readonly name = 'DatabaseEncodingError';

  constructor(readonly encoding: string) {
    super(`The database has the encoding ${encoding}: create one with ENCODING '${ENCODING}', and connect to that.`);
  }
}

/**
 * The refusal `outcome_unknown` of this library: the connection was lost during COMMIT, so the database transaction is committed or
 * rolled back.
 *
 * Catch it where the effects can be looked up, such as by an idempotency key. Elsewhere let it pass: the caller receives 504.
 */
export class CommitInDoubtError extends Refusal {
  override readonly name = 'CommitInDoubtError';

  constructor(cause: unknown) {
    super('outcome_unknown', undefined, { retryAfterSeconds: RETRY_AFTER_S, cause });
  }
}

/** The connection ended, or did not answer in time, before a pipeline was complete. */
export class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost';

  /**
   * @param received the results of the statements that were complete before
   * @param wasSent whether any of it was handed to the connection; else the server cannot have carried it out
   */
  constructor(
    readonly received: PipelineResults,
    readonly wasSent: boolean,
    cause: unknown,
  ) {
    super('the connection to the database was lost', { cause });
  }
}

/**
 * The same error, or `CommitInDoubtError` where the server may have committed.
 *
 * An error that is followed by ReadyForQuery leaves no doubt: an ERROR during COMMIT rolls back, and one after the commit record was
 * written is a PANIC. Every error that ends the connection leaves doubt: a FATAL (57P01, 57P02, 08xxx) may come from a pooler while
 * the server continues.
 */
export function asCommitInDoubt(error: unknown): unknown {
  return error instanceof ConnectionLost && error.wasSent ? new CommitInDoubtError(error) : error;
}

/** The server rolled back because of another database transaction. The same work may be tried again at once. */
const CONFLICTS: ReadonlySet<string> = new Set([SQLSTATE.serializationFailure, SQLSTATE.deadlockDetected]);

/** Failures that end without a change of code or settings. Every code of the classes below is one too. */
const TRANSIENT: ReadonlySet<string> = new Set([
  ...CONFLICTS,
  // Waits that took too long.
  SQLSTATE.lockNotAvailable,
  SQLSTATE.queryCanceled,
  // A server that stops, starts or has become a standby.
  SQLSTATE.adminShutdown,
  SQLSTATE.crashShutdown,
  SQLSTATE.cannotConnectNow,
  SQLSTATE.databaseDropped,
  SQLSTATE.idleSessionTimeout,
  SQLSTATE.readOnlySqlTransaction,
]);
const TRANSIENT_CLASSES = [SQLSTATE_CLASS.connectionException, SQLSTATE_CLASS.insufficientResources];

/** After these the connection differs from what we know of it: it has another server, or lacks our statements. */
const CONNECTION_UNUSABLE: ReadonlySet<string> = new Set([
  SQLSTATE.protocolViolation,
  SQLSTATE.readOnlySqlTransaction,
  SQLSTATE.invalidSqlStatementName,
  SQLSTATE.duplicatePreparedStatement,
]);

/** `Refusal` `unavailable` where the database is temporarily unavailable, else the same error. */
export function asUnavailable(error: unknown): unknown {
  if (error instanceof ConnectionLost || isTransient(error)) {
    return unavailable('The database is temporarily unavailable.', error);
  }
  return error;
}

/**
 * The same for a failure to connect. Errors of `pg-pool` and of the socket have no class of their own: they are what remains once the
 * others are named.
 *
 * @param wasAccepted whether the server has accepted this login before. Its password is then being changed, at the server or in its file.
 */
export function asConnectionFailure(error: unknown, wasAccepted = false): unknown {
  if (error instanceof DatabaseSetupError) return error;
  if (error instanceof DatabaseError) {
    if (wasAccepted && isLoginRefused(error)) {
      return unavailable('The database does not accept the login at the moment.', error);
    }
    const advice = adviceFor(error.code ?? '');
    if (advice === undefined) return asUnavailable(error);
    return new DatabaseSetupError(`${error.message}. ${advice} in the URL of the connection.`, { cause: error });
  }
  if (error instanceof Error && error.message.endsWith(NO_PASSWORD)) {
    const advice =
      'Set the file that has it, such as DATABASE_PASSWORD_FILE, or write it into the URL of the connection.';
    return new DatabaseSetupError(`The server asks for a password, and none is configured. ${advice}`, {
      cause: error,
    });
  }
  if (error instanceof TypeError || (error instanceof Error && error.message.startsWith('SASL'))) {
    return new DatabaseSetupError(`The login was not accepted: ${error.message}`, { cause: error });
  }
  return unavailable('No connection to the database could be had in time.', error);
}

/** The driver's message for a login without a password. The error has no code. */
const NO_PASSWORD = 'client password must be a string';

function adviceFor(code: string): string | undefined {
  if (code === SQLSTATE.invalidCatalogName) return 'Create it, or name another';
  return code.startsWith(SQLSTATE_CLASS.invalidAuthorization)
    ? 'Correct the login, or its password in its file or'
    : undefined;
}

const isLoginRefused = ({ code }: DatabaseError) => code?.startsWith(SQLSTATE_CLASS.invalidAuthorization) === true;

/** The refusal for a database that is unavailable: status 503, try again after a second. */
export function unavailable(message: string, cause?: unknown): Refusal {
  return new Refusal('unavailable', message, { retryAfterSeconds: RETRY_AFTER_S, cause });
}

/** Whether the server rolled the work back because of a conflict, so that it may be tried again at once. */
export function isConflict(error: unknown): boolean {
  return CONFLICTS.has(sqlstateOf(error) ?? '');
}

/** The SQLSTATE of an error of the server, also where it has become a refusal. Undefined for any other error, such as a lost connection. */
export function sqlstateOf(error: unknown): string | undefined {
  const cause = error instanceof Refusal ? error.cause : error;
  return cause instanceof DatabaseError ? cause.code : undefined;
}

/** Whether the server refused a plan that is older than a change of the schema. Nothing has happened; all connections have such plans. */
export function isStalePlan(error: unknown): boolean {
  return (
    error instanceof DatabaseError && error.code === SQLSTATE.featureNotSupported && /cached plan/.test(error.message)
  );
}

/** The reason why a server is no use that answers and accepts no writes. */
export const READ_ONLY_SERVER = 'the server accepts no writes: it is a standby, or default_transaction_read_only is on';

/** Whether the server accepts no writes any more, on none of its connections. */
export function isReadOnlyServer(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === SQLSTATE.readOnlySqlTransaction;
}

/** Whether an error is the refusal `unavailable`: the same may succeed at another time, or at another host. */
export function isUnavailable(error: unknown): error is Refusal {
  return error instanceof Refusal && error.reason === 'unavailable';
}

/** Whether the connection must not be used again, though it still answers. */
export function isConnectionUnusableAfter(error: unknown): boolean {
  return isStalePlan(error) || (error instanceof DatabaseError && CONNECTION_UNUSABLE.has(error.code ?? ''));
}

function isTransient(error: unknown): boolean {
  if (!(error instanceof DatabaseError)) return false;
  const code = error.code ?? '';
  return TRANSIENT.has(code) || TRANSIENT_CLASSES.some((start) => code.startsWith(start)) || isStalePlan(error);
}

/** Whether the scope was refused because another database serves one of its workspaces, or will do so. Nothing has happened. */
export function isServedElsewhere(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === RULE_VIOLATION.workspaceElsewhere;
}
