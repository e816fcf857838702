import { BatchedCalls, type BoundStatement, type Database } from '@banking/postgres';
import { lockClaims, LostClaimError, type Claim } from './claims.js';
import { changeWork, type WorkChange } from './work-changes.js';
import type { FailedAttempt, WorkHandler } from './work-handler.js';

/** The result of a try, still to be recorded. */
export interface WorkResult {
  readonly claim: Claim;
  readonly handler: WorkHandler;
  readonly change: WorkChange;
  /** Set for a try that succeeded and is due again. */
  readonly isPostponed?: boolean;
  /** Set for a failed try. */
  readonly failure?: FailedAttempt;
}

/**
 * Records the results of tries, under the fences of their claims. Results that arrive while a batch is committed are in the next one.
 * A result whose claim is lost is left out of its batch, and delays no other.
 */
export class ResultRecorder {
  private readonly batches = new BatchedCalls<WorkResult, 'recorded' | 'lost'>((results) => this.recordAll(results));

  constructor(private readonly database: Database) {}

  /** @throws LostClaimError if another worker has the work; nothing was written */
  async record(result: WorkResult): Promise<void> {
    if ((await this.batches.call(result)) === 'lost') throw new LostClaimError('the claim is lost');
  }

  private recordAll(results: readonly WorkResult[]): Promise<readonly ('recorded' | 'lost')[]> {
    const workspaces = [...new Set(results.map(({ claim }) => claim.workspaceId))];
    return this.database.transaction({ workspaces }, async (tx) => {
      const claims = results.map(({ claim }) => claim);
      const held = await lockClaims(tx, claims);
      const kept = results.filter(({ claim }) => held.has(claim));
      await tx.commit([...changeWork(kept), ...notesOf(kept)]);
      return claims.map((claim) => (held.has(claim) ? 'recorded' : 'lost'));
    });
  }
}

/** The writes of the handlers, each for all results of its kind of work. */
function notesOf(results: readonly WorkResult[]): BoundStatement<unknown>[] {
  return [...new Set(results.map(({ handler }) => handler))].flatMap((handler) => {
    const own = results.filter((result) => result.handler === handler);
    const postponed = own.flatMap(({ claim, isPostponed }) => (isPostponed === true ? [claim] : []));
    const failures = own.flatMap(({ failure }) => failure ?? []);
    return [
      ...(postponed.length > 0 ? (handler.notePostponed?.(postponed) ?? []) : []),
      ...(failures.length > 0 ? (handler.noteFailures?.(failures) ?? []) : []),
    ];
  });
}
