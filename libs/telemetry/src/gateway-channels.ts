import { channel, tracingChannel, type Channel } from 'node:diagnostics_channel';

/** A request of a gateway to its upstream, from its sending to the last byte of the response. Its error is in `error`. */
export interface UpstreamMessage {
  /** The method of the port, such as `placeOrder`. */
  readonly operation: string;
  readonly method: string;
  /** Whether it is a request of a caller, not of the gateway itself. */
  readonly isOfCaller: boolean;
  /** Set at the end. */
  readonly result?: { readonly status: number };
}
export const upstreamChannel = tracingChannel<unknown, UpstreamMessage>('banking:gateway:upstream');

/** A change of the circuit breaker. */
export interface CircuitMessage {
  readonly state: 'open' | 'closed';
}
export const circuitChannel = channel('banking:gateway:circuit') as Channel<unknown, CircuitMessage>;
