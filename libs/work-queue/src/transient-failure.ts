import { Refusal, type RefusalReason } from '@banking/domain';
import { isServedElsewhere } from '@banking/postgres';

/** The refusals that end without a change of the work: the database or a rate source cannot serve, or an outcome is not known yet. */
const TRANSIENT: ReadonlySet<RefusalReason> = new Set(['unavailable', 'rate_unavailable', 'outcome_unknown']);

/** Whether a failure ends without a change of the work: it delays the work and does not count as a try. */
export function isTransientFailure(error: unknown): boolean {
  return isServedElsewhere(error) || (error instanceof Refusal && TRANSIENT.has(error.reason));
}
