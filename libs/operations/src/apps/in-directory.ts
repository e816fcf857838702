import { setTimeout as pause } from 'node:timers/promises';
import { type Database, type DbTransaction, isUnavailable } from '@banking/postgres';
import type { AuditedCall } from '../audit/audited-call.js';

/** The directory, as the database of a workspace changes it. */
export interface InDirectory {
  /** Whether a change is committed before the operation, and stays if that fails. */
  readonly isCommittedBefore: boolean;
  /** Carries out a change of the directory: in the database transaction of the operation, or in one at home. */
  change<T>(tx: DbTransaction, caller: AuditedCall, change: (tx: DbTransaction) => Promise<T>): Promise<T>;
  /**
   * Resolves when this database has a change, after a while, or when it cannot be read: the change is made all the same. Call it after the
   * operation, whose locks a copy may wait for.
   */
  arrival(hasArrived: () => Promise<boolean>): Promise<void>;
}

/** The directory is in the same database. */
const inDirectoryHere: InDirectory = {
  isCommittedBefore: false,
  change: (tx, _, change) => change(tx),
  arrival: () => Promise.resolve(),
};

/** A copy takes a few milliseconds. Without it the change is made all the same, and its caller reads it later. */
const ARRIVAL_MAX_MS = 2_000;
const POLL_MS = 10;

/**
 * The directory is at home, and the workspace in another cell. What is changed at home is committed first. The cell tells of a change of a
 * member in its trails when the copy arrives.
 */
const inDirectoryAt = (home: Database): InDirectory => ({
  isCommittedBefore: true,
  change: (_, { actor }, change) =>
    home.transaction({ user: actor }, async (tx) => {
      const result = await change(tx);
      await tx.commit();
      return result;
    }),
  async arrival(hasArrived) {
    const endsAtMs = performance.now() + ARRIVAL_MAX_MS;
    const isOver = () => hasArrived().catch(endIfUnavailable);
    while (!(await isOver()) && performance.now() < endsAtMs) await pause(POLL_MS);
  },
});

/** `unavailable` would say that nothing was changed. */
function endIfUnavailable(error: unknown): true {
  if (isUnavailable(error)) return true;
  throw error;
}

/** @param home the database of the directory, if it is another one */
export const inDirectoryOf = (home: Database | undefined): InDirectory =>
  home === undefined ? inDirectoryHere : inDirectoryAt(home);
