import { SpanKind } from '@opentelemetry/api';
import { batchedCallChannel, callBatchChannel, pipelineChannel, sqlstateOf } from '@banking/postgres';
import { orderBatchChannel, orderChannel } from '@banking/operations';
import { networkChannel } from '@banking/payouts';
import { workChannel } from '@banking/work-queue';
import { upstreamChannel } from '../index.js';
import { fail, type Spans, typeOf } from './spans.js';

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

/** A request of a gateway to its upstream. */
export function followUpstream(spans: Spans): void {
  spans.follow(upstreamChannel, {
    start({ operation, method }) {
      const parent = spans.active;
      if (parent === undefined) return { other: undefined };
      const attributes = { 'http.request.method': method, 'banking.operation': operation };
      return { own: spans.startChild(parent, `${method} ${operation}`, { kind: SpanKind.CLIENT, attributes }) };
    },
    complete(span, { result, error }) {
      if (result !== undefined) span.setAttribute('http.response.status_code', result.status);
      if (error !== undefined) fail(span, typeOf(error));
      else if (result !== undefined && result.status >= 400) fail(span, String(result.status));
    },
  });
}

/**
 * An order has a span from its submission to its outcome. A batch has a trace of its own, because its orders belong to several requests:
 * it is linked to the spans of its orders, and recorded if one of them is.
 */
export function followOrders(spans: Spans): void {
  spans.follow(orderChannel, {
    start({ kind }) {
      const parent = spans.active;
      if (parent === undefined) return { other: undefined };
      return { own: spans.startChild(parent, `order ${kind}`, { attributes: { 'banking.order.kind': kind } }) };
    },
    complete(span, { error }) {
      if (error !== undefined) span.setAttribute('error.type', typeOf(error));
    },
  });
  spans.follow(orderBatchChannel, {
    start({ orders, strategy, waitMs }) {
      const waiting = spans.spansOf(orders);
      if (waiting.length === 0) return { other: undefined };
      const attributes = {
        'banking.batch.size': orders.length,
        'banking.batch.strategy': strategy,
        'banking.batch.wait_ms': Math.round(waitMs),
      };
      return { own: spans.startLinked('order batch', waiting, attributes) };
    },
    complete(span, { error }) {
      if (error !== undefined) fail(span, typeOf(error));
    },
  });
}

/**
 * A claimed piece of work begins a trace: it runs long after the request that caused it, often in another process. The calls of the
 * network belong to it. Polling the network for events has no span.
 */
export function followWork(spans: Spans): void {
  spans.follow(workChannel, {
    start({ kind, workspaceId, tries }) {
      const attributes = {
        'banking.work.kind': kind,
        'banking.work.tries': tries,
        'banking.workspace.id': workspaceId,
      };
      return { own: spans.startRoot(`work ${kind}`, { kind: SpanKind.CONSUMER, attributes }) };
    },
    complete(span, { outcome, reason, error }) {
      if (outcome !== undefined) span.setAttribute('banking.work.outcome', outcome);
      if (reason !== undefined) span.setAttribute('banking.work.reason', reason);
      if (error !== undefined) fail(span, typeOf(error));
      else if (reason !== undefined) fail(span, outcome ?? 'failed');
    },
  });
  spans.follow(networkChannel, {
    start({ operation }) {
      const parent = spans.active;
      if (parent === undefined) return { other: undefined };
      const attributes = { 'banking.network.operation': operation };
      return { own: spans.startChild(parent, `network ${operation}`, { kind: SpanKind.CLIENT, attributes }) };
    },
    complete(span, { error, signal }) {
      if (error !== undefined) fail(span, signal?.aborted === true ? 'timeout' : typeOf(error));
    },
  });
}
