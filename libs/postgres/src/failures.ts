import { Refusal } from '@banking/domain';
import { DatabaseError } from 'pg';
import type { Landing } from './flight.js';

const RETRY_AFTER_S = 1;

/** The server or this program is set up in a way that would lose data or let a wall fall. The message says what to change. */
export class DatabaseSetupError extends Error {
  override readonly name = 'DatabaseSetupError';
}

/**
 * The refusal `outcome_unknown` of this library: the connection was lost while COMMIT was on its way, so the database transaction has
 * happened, or it has not.
 *
 * Catch it where what it would have left behind can be looked for, such as an idempotency key. Elsewhere let it pass: the caller is
 * answered 504.
 */
export class CommitInDoubtError extends Refusal {
  override readonly name = 'CommitInDoubtError';

  constructor(cause: unknown) {
    super('outcome_unknown', undefined, { retryAfterSeconds: RETRY_AFTER_S, cause });
  }
}

/** The connection ended, or did not answer in time, before a flight had landed. */
export class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost';

  /**
   * @param arrived what each statement answered before
   * @param wasSent whether any of it was handed to the connection; else the server cannot have carried it out
   */
  constructor(
    readonly arrived: Landing,
    readonly wasSent: boolean,
    cause: unknown,
  ) {
    super('the connection to the database was lost', { cause });
  }
}

/**
 * The same error, or the doubt it leaves about a commit that was under way.
 *
 * An error that the server followed by ReadyForQuery leaves none: an ERROR during COMMIT rolls back, and one after the commit record
 * was written is a PANIC. Everything that ends the connection instead leaves doubt, whatever it says: a FATAL (57P01, 57P02, 08xxx) may
 * come from a pooler in between while the server goes on.
 */
export function doubtOf(error: unknown): unknown {
  return error instanceof ConnectionLost && error.wasSent ? new CommitInDoubtError(error) : error;
}

/** A serialization failure and a deadlock: the server rolled back and the same work may be tried again at once. */
const REPEATABLE = new Set(['40001', '40P01']);

/**
 * Nobody's bug, and over after a while: waits that took too long (55P03, 57014), a server that stops, starts or
 * has become a standby (57P01 to 57P05, 25006), and the two repeatable ones. Classes 08 and 53: see below.
 */
const PASSING = new Set([...REPEATABLE, ...['55P03', '57014', '57P01', '57P02', '57P03', '57P04', '57P05', '25006']]);

/** After these the connection is not what we remember: planned for another schema, or without our statements. */
const SPOILT = new Set(['08P01', '25006', '26000', '42P05']);

/**
 * What a caller gets to see of a failure: `Refusal` `unavailable` when the database cannot serve at the moment,
 * else the error itself, which then is a bug or a decision of the caller's.
 */
export function outcomeOf(error: unknown): unknown {
  if (error instanceof ConnectionLost || isPassing(error)) {
    return unavailable('The database cannot answer at the moment.', error);
  }
  return error;
}

/**
 * The same for a failure to connect. Errors of `pg-pool` and of the socket have no class to tell them by; what is left
 * once the others are named is those.
 */
export function connectionFailureOf(error: unknown): unknown {
  if (error instanceof DatabaseSetupError) return error;
  if (error instanceof DatabaseError) {
    const advice =
      error.code === '3D000' ? 'Create it, or name another' : error.code?.startsWith('28') && 'Correct the login';
    if (!advice) return outcomeOf(error);
    return new DatabaseSetupError(`${error.message}. ${advice} in the URL of the connection.`, { cause: error });
  }
  if (error instanceof TypeError || (error instanceof Error && error.message.startsWith('SASL'))) {
    return new DatabaseSetupError(`The login was not accepted: ${error.message}`, { cause: error });
  }
  return unavailable('No connection to the database could be had in time.', error);
}

/** The refusal for a database that cannot serve: status 503, try again after a second. */
export function unavailable(message: string, cause?: unknown): Refusal {
  return new Refusal('unavailable', message, { retryAfterSeconds: RETRY_AFTER_S, cause });
}

/** Whether the server rolled the work back for a reason that makes trying again at once sensible. */
export function isRepeatable(error: unknown): boolean {
  const cause = error instanceof Refusal ? error.cause : error;
  return cause instanceof DatabaseError && REPEATABLE.has(cause.code ?? '');
}

/** Whether plans made before a change of the schema were refused. Nothing has happened; all connections share the fate. */
export function isStalePlan(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === '0A000' && /cached plan/.test(error.message);
}

/** Whether the connection must not be used again, though it still answers. */
export function spoilsConnection(error: unknown): boolean {
  return isStalePlan(error) || (error instanceof DatabaseError && SPOILT.has(error.code ?? ''));
}

function isPassing(error: unknown): boolean {
  if (!(error instanceof DatabaseError)) return false;
  const code = error.code ?? '';
  return PASSING.has(code) || code.startsWith('08') || code.startsWith('53') || isStalePlan(error);
}
