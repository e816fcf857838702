import { type Span, SpanStatusCode } from '@opentelemetry/api';
import { Refusal } from '@banking/domain';
import { sqlstateOf } from '@banking/postgres';

/**
 * Marks a span as failed. Its message and its stack are left out, because they may quote values of the request: the log has those that
 * do not.
 */
export function fail(span: Span, type: string): void {
  span.setAttribute('error.type', type);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

/** The SQLSTATE, the reason of a refusal, or the class of an error. */
export function typeOf(error: unknown): string {
  const sqlstate = sqlstateOf(error);
  if (sqlstate !== undefined) return sqlstate;
  if (error instanceof Refusal) return error.reason;
  return error instanceof Error ? error.name : typeof error;
}
