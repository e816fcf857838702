import { isRefusalReason } from '@banking/domain';
import { keyFetchChannel, responseChannel } from '../http-channels.js';
import type { Metrics } from './metrics.js';
import { onMessage, type Unsubscribe } from './subscriptions.js';

/** Methods of the interface and of its probes. Callers may send any other one. */
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'none']);

/** Metrics of the HTTP interface. */
export function collectHttp(metrics: Metrics): readonly Unsubscribe[] {
  const durations = metrics.histogram('banking_http_request_duration_seconds');
  const refusals = metrics.counter('banking_http_refusals_total');
  const authenticationFailures = metrics.counter('banking_authentication_failures_total');
  const replays = metrics.counter('banking_idempotent_replays_total');
  const keysUp = metrics.gauge('banking_issuer_keys_up');
  const ofKeys = onMessage(keyFetchChannel, ({ isFailing }) => keysUp.set(isFailing ? 0 : 1));
  const ofResponses = onMessage(
    responseChannel,
    ({ method, route, status, ms = 0, reason, credentialFault, isReplay }) => {
      const known = METHODS.has(method) ? method : 'other';
      durations.observe({ method: known, route, status }, ms / 1000);
      // A gateway passes on any text of its upstream.
      if (reason !== undefined) refusals.inc({ reason: isRefusalReason(reason) ? reason : 'other' });
      if (credentialFault !== undefined) authenticationFailures.inc({ fault: credentialFault });
      if (isReplay) replays.inc();
    },
  );
  return [ofKeys, ofResponses];
}
