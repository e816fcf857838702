import { tracingChannel } from 'node:diagnostics_channel';

/** A call of the payment network, from its beginning to its response. Its error is in `error`. See `channels.ts` of `@banking/postgres`. */
export interface NetworkMessage {
  readonly operation: 'submit' | 'find' | 'receive' | 'acknowledge';
  /** Ends the call. The call took too long if it is aborted at the end. */
  readonly signal?: AbortSignal | undefined;
}
export const networkChannel = tracingChannel<unknown, NetworkMessage>('banking:payouts:network');

/** Calls the network. */
export function traceNetwork<T>(message: NetworkMessage, call: () => Promise<T>): Promise<T> {
  return networkChannel.hasSubscribers ? networkChannel.tracePromise(call, message) : call();
}
