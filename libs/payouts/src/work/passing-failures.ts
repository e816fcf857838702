import { Refusal } from '@banking/domain';
import { CommitInDoubtError } from '@banking/postgres';

/**
 * The refusals that pass by themselves: the database, a rate source or a queue cannot serve, or an outcome is not known. They are
 * compared as strings, because the table of refusals may be older than a reason named here.
 */
const PASSING: ReadonlySet<string> = new Set(['unavailable', 'rate_unavailable', 'outcome_unknown']);

/** The reason of a failure that passes by itself, however often the work is retried; undefined for any other failure. */
export function passingReason(error: unknown): string | undefined {
  if (error instanceof CommitInDoubtError) return 'outcome_unknown';
  return error instanceof Refusal && PASSING.has(error.reason) ? error.reason : undefined;
}
