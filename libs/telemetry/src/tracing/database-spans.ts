import { SpanKind } from '@opentelemetry/api';
import { batchedCallChannel, callBatchChannel, pipelineChannel, sqlstateOf } from '@banking/postgres';
import { fail, typeOf } from './failures.js';
import type { Spans } from './spans.js';

/** The statements that set the scope of a pipeline, with one database and with several. Every pipeline has one of them. */
const SCOPES: readonly string[] = ['scope', 'checked_scope', 'checked_read_scope'];
/** The longest `db.query.summary` of the semantic conventions. */
const SUMMARY_MAX = 255;

/**
 * Spans of pipelines, and of batches of calls that share one. A pipeline outside of a recorded span has none: most of them poll.
 */
export function followDatabase(spans: Spans): void {
  spans.follow(pipelineChannel, {
    start({ statements }) {
      const parent = spans.active;
      if (parent === undefined) return { other: undefined };
      const summary = summaryOf(statements);
      const attributes = {
        'db.system.name': 'postgresql',
        'db.query.summary': summary,
        // Of a single statement it must be left out.
        ...(statements.length > 1 && { 'db.operation.batch.size': statements.length }),
      };
      return { own: spans.startChild(parent, summary, { kind: SpanKind.CLIENT, attributes }) };
    },
    complete(span, { error }) {
      if (error === undefined) return;
      const sqlstate = sqlstateOf(error);
      if (sqlstate !== undefined) span.setAttribute('db.response.status_code', sqlstate);
      fail(span, typeOf(error));
    },
  });
  followCallBatches(spans);
}

/** The names of the statements, which are the same for each pipeline of one place in the code. */
function summaryOf(statements: readonly string[]): string {
  const summary = statements.filter((name) => !SCOPES.includes(name)).join(' ');
  return summary.length <= SUMMARY_MAX ? summary : summary.slice(0, summary.lastIndexOf(' ', SUMMARY_MAX));
}

/**
 * A batch of calls belongs to the span of its callers if there is one. With several it has a trace of its own, with links to all of them.
 */
function followCallBatches(spans: Spans): void {
  spans.subscribe(batchedCallChannel, (call: object) => {
    const { active } = spans;
    if (active !== undefined) spans.keep(call, active);
  });
  spans.follow(callBatchChannel, {
    start({ calls }) {
      const callers = spans.spansOf(calls);
      if (callers.length <= 1) return { other: callers[0] };
      return { own: spans.startLinked('batch of calls', callers, { 'banking.batch.size': calls.length }) };
    },
    complete(span, { error }) {
      if (error !== undefined) fail(span, typeOf(error));
    },
  });
}
