import { channel, type Channel, tracingChannel } from 'node:diagnostics_channel';

/**
 * Channels of `node:diagnostics_channel` that the apps publish on. See `channels.ts` of `@banking/postgres`. Metrics and traces have entry
 * points of their own, so that a process without them loads neither.
 */

/** A response of the HTTP interface that was sent. */
export interface ResponseMessage {
  readonly method: string;
  /** The template of the route; `none` for a request that matches no route. Never a path. */
  readonly route: string;
  readonly status: number;
  /** Undefined for a request that could not be parsed. */
  readonly ms?: number | undefined;
  /** The reason in the body of an error. A gateway passes on reasons of its upstream. */
  readonly reason?: string | undefined;
  /** Why a credential was refused: a code, never a text. */
  readonly credentialFault?: string | undefined;
  /** Whether an earlier request with the same idempotency key has created the resource. */
  readonly isReplay: boolean;
}
export const responseChannel = channel('banking:api:response') as Channel<unknown, ResponseMessage>;

/** A fetch of the keys of the identity provider. */
export interface KeyFetchMessage {
  /** Whether it has failed. Known keys are then used for some hours. */
  readonly isFailing: boolean;
}
export const keyFetchChannel = channel('banking:api:key-fetch') as Channel<unknown, KeyFetchMessage>;

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
