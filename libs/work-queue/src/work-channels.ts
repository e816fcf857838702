import { tracingChannel } from 'node:diagnostics_channel';
import type { Claim } from './claims.js';

/** Channels for metrics and traces, as in `channels.ts` of `@banking/postgres`. */

/**
 * The result of a try. `postponed` has succeeded and is due again, `held` was no try, `retried` and `delayed` have failed, `parked` waits
 * for an operator, `lost` belongs to another worker.
 */
export type WorkResultKind = 'done' | 'postponed' | 'held' | 'retried' | 'delayed' | 'parked' | 'lost';

/** A claimed piece of work, such as a payout, from its start until its result is recorded. It has no error: a failure is a result. */
export interface WorkMessage extends Pick<Claim, 'kind' | 'workspaceId' | 'tries'> {
  /** Set at the end. */
  outcome?: WorkResultKind;
  /** Why the try failed, as it is recorded for operators. */
  reason?: string;
}
export const workChannel = tracingChannel<unknown, WorkMessage>('banking:work:work');

/** A run of a chore. Its error is in `error`. */
export interface ChoreMessage {
  readonly name: string;
}
export const choreChannel = tracingChannel<unknown, ChoreMessage>('banking:work:chore');
