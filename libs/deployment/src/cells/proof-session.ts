import { type AdminSession } from '@banking/postgres';

/** A session for one piece of work, which can be stopped and awaited before anything else uses the connection. */
export interface ProofSession {
  readonly session: AdminSession;
  /** Resolves when the connection is in no database transaction of the work. After the signal, nothing of it begins any more. */
  ended(): Promise<void>;
}

export function proofSession({ query, actAs, inTransaction }: AdminSession, signal: AbortSignal): ProofSession {
  const running = new Set<Promise<unknown>>();
  const run = async <T>(work: () => Promise<T>): Promise<T> => {
    signal.throwIfAborted();
    const unit = work();
    running.add(unit);
    return unit.finally(() => running.delete(unit));
  };
  return {
    session: {
      query: (text, values) => run(() => query(text, values)),
      actAs: (role, schema, work) => run(() => actAs(role, schema, work)),
      inTransaction: (work) => run(() => inTransaction(work)),
    },
    async ended() {
      await Promise.allSettled(running);
    },
  };
}
