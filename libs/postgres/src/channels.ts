import { channel, tracingChannel, type Channel } from 'node:diagnostics_channel';

/**
 * Channels of `node:diagnostics_channel`, for metrics and traces. Without a subscriber no message is made. A subscriber must not throw:
 * Node would end the process.
 */

/** A pipeline, from its sending to its results. The error of a failed one is in `error`: see `sqlstateOf`. */
export interface PipelineMessage {
  /** The names of the statements, in their order. */
  readonly statements: readonly string[];
}
export const pipelineChannel = tracingChannel<unknown, PipelineMessage>('banking:postgres:pipeline');

/** A caller has received a connection, or none in time. */
export interface ConnectionMessage {
  readonly waitMs: number;
  readonly isRefused: boolean;
}
export const connectionChannel = channel('banking:postgres:connection') as Channel<unknown, ConnectionMessage>;

/** Work runs again after a conflict with another database transaction. */
export interface RetryMessage {
  readonly sqlstate: string;
  /** The tries so far, from 1. */
  readonly tries: number;
}
export const retryChannel = channel('banking:postgres:retry') as Channel<unknown, RetryMessage>;

/** A call has joined the calls that wait for a batch: the object of the call in `CallBatchMessage`. */
export const batchedCallChannel = channel('banking:postgres:batched-call') as Channel<unknown, object>;

/** A batch of calls that share a database transaction, from its beginning to their results: see `BatchedCalls`. */
export interface CallBatchMessage {
  readonly calls: readonly object[];
}
export const callBatchChannel = tracingChannel<unknown, CallBatchMessage>('banking:postgres:call-batch');
