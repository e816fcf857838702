import { Refusal, type RefusalReason } from '@banking/domain';

/** The refusals that pass by themselves: the database, a rate source or a queue cannot serve, or an outcome is not known. */
const PASSING: ReadonlySet<RefusalReason> = new Set(['unavailable', 'rate_unavailable', 'outcome_unknown']);

/** Whether a failure passes by itself, however often the work is retried: it delays the work, and is no try. */
export function isPassingFailure(error: unknown): boolean {
  return error instanceof Refusal && PASSING.has(error.reason);
}
