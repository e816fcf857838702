import { circuitChannel, upstreamChannel } from '../gateway-channels.js';
import type { Metrics } from './metrics.js';
import { onEnd, onMessage, type Unsubscribe } from './subscriptions.js';

/** Metrics of a gateway and its upstream. */
export function collectGateway(metrics: Metrics): readonly Unsubscribe[] {
  const durations = metrics.histogram('banking_upstream_request_duration_seconds');
  const circuit = metrics.gauge('banking_upstream_circuit_open');
  circuit.set(0);
  return [
    onEnd(upstreamChannel, ({ operation, result }, seconds) =>
      durations.observe({ operation, status: result?.status ?? 'failed' }, seconds),
    ),
    onMessage(circuitChannel, ({ state }) => circuit.set(state === 'open' ? 1 : 0)),
  ];
}
