import { SpanKind } from '@opentelemetry/api';
import { networkChannel } from '@banking/payouts';
import { workChannel } from '@banking/work-queue';
import { fail, typeOf } from './failures.js';
import type { Spans } from './spans.js';

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
