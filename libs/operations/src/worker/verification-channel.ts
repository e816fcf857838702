import { channel, type Channel } from 'node:diagnostics_channel';

/** A run of the continuous verification. See `channels.ts` of `@banking/postgres`. */
export interface VerificationMessage {
  /** `new` is what was posted since the last run; the others are ranges of all rows. */
  readonly subject: 'new' | 'account' | 'transaction';
  /** `busy`: another worker verifies at the moment. `stopped`: payouts are stopped, so nothing is verified. */
  readonly outcome: 'proven' | 'findings' | 'busy' | 'stopped';
  /** Rows that were verified. */
  readonly rows: number;
  /** The name of the database, where there are several. */
  readonly cell?: string | undefined;
}
export const verificationChannel = channel('banking:worker:verification') as Channel<unknown, VerificationMessage>;
