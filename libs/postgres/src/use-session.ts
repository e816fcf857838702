import { asUnavailable, isReadOnlyServer, isStalePlan } from './failures.js';
import type { PipelineResults } from './pipeline-results.js';
import type { SessionPool } from './session-pool.js';
import type { Session } from './session.js';
import type { BoundStatement } from './sql-statement.js';

/**
 * Lends a connection of the pool to some work.
 *
 * @throws Refusal `unavailable` where the server cannot serve at the moment. @throws what the work throws
 */
export async function useSession<T>(pool: SessionPool, use: (session: Session) => Promise<T>): Promise<T> {
  const session = await pool.acquire();
  try {
    return await use(session);
  } catch (error) {
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
    if ([error, cause].some((one) => isStalePlan(one) || isReadOnlyServer(one))) pool.renew();
    throw asUnavailable(error);
  } finally {
    pool.release(session);
  }
}

/** Sends a pipeline outside of a database transaction of ours. @param calls a function is called when a connection is free */
export function sendPipeline(
  pool: SessionPool,
  calls: readonly BoundStatement<unknown>[] | (() => readonly BoundStatement<unknown>[]),
  failureOf = (error: unknown) => error,
): Promise<PipelineResults> {
  return useSession(pool, async (session) => {
    const sent = typeof calls === 'function' ? calls() : calls;
    const results = await session.send(sent).catch((error: unknown) => Promise.reject(failureOf(error)));
    if (session.transactionStatus !== 'I') throw new Error('a pipeline left a database transaction open');
    return results;
  });
}
