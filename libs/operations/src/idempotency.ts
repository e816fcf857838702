import { createHash } from 'node:crypto';
import {
  canonicalJson,
  isIdempotencyKey,
  Refusal,
  type CanonicalValue,
  type Created,
  type Intent,
} from '@banking/domain';
import { bind, statement, type Bound, type Database, type Tx } from '@banking/postgres';

/** What a key is good for: an operation of a workspace with the values of its path, and the request it named first. */
export interface Request {
  readonly workspaceId: number;
  readonly operation: string;
  /** Everything the caller asked for, path values aside. */
  readonly content: object;
}

const KEPT = `interval '30 days'`;
const BUSY_RETRY_S = 1;

/** Held to the end of the database transaction: who comes meanwhile with the same key is told so instead of waiting. */
const TAKE_KEY = statement<{ taken: boolean }>(
  'take_idempotency_key',
  `select pg_try_advisory_xact_lock(hashtextextended(jsonb_build_array('idempotency', $1::bigint, $2::text, $3::text)::text, 0)) as taken`,
);
/** A statement of its own behind the lock, so that it sees what the holder before wrote. */
const FIND_ANSWER = statement<{ fingerprint: Buffer; answer: string }>(
  'find_idempotent_answer',
  `select fingerprint, answer from idempotency
   where workspace_id = $1 and operation = $2 and key = $3 and created_at > statement_timestamp() - ${KEPT}`,
);
const KEEP_ANSWER = statement(
  'keep_idempotent_answer',
  `insert into idempotency as kept (workspace_id, operation, key, fingerprint, answer) values ($1, $2, $3, $4, $5)
   on conflict (workspace_id, operation, key)
   do update set fingerprint = excluded.fingerprint, answer = excluded.answer, created_at = excluded.created_at
   where kept.created_at <= statement_timestamp() - ${KEPT}`,
);
/** A few with every one that is kept: what expires goes about as fast as it came. */
const FORGET_EXPIRED = statement(
  'forget_expired_answers',
  `delete from idempotency where (workspace_id, operation, key) in (
     select workspace_id, operation, key from idempotency
     where workspace_id = $1 and created_at <= statement_timestamp() - ${KEPT}
     order by created_at limit 4 for update skip locked)`,
);

/** What an operation makes: the writes that are still to be sent, and the statement that answers with the resource. */
export interface Making<T> {
  readonly writes: readonly Bound<unknown>[];
  readonly answer: Bound<{ readonly resource: T }>;
}

/**
 * Makes something at most once for a key. The thing and the answer are committed together; a refusal keeps nothing and leaves the key
 * free.
 *
 * @param make decides and says what is to be written; it may read in `tx`, and it may refuse
 * @throws Refusal `idempotency_key_invalid`, `idempotency_in_progress`, `idempotency_key_reused`, and what `make` refuses
 */
export async function makeOnce<T>(
  database: Database,
  request: Request,
  { idempotencyKey: key }: Intent,
  actor: number | undefined,
  make: (tx: Tx) => Promise<Making<T>>,
): Promise<Created<T>> {
  if (key !== undefined && !isIdempotencyKey(key)) throw new Refusal('idempotency_key_invalid');
  const { workspaceId, operation } = request;
  const fingerprint = createHash('sha256')
    .update(canonicalJson(request.content as CanonicalValue))
    .digest();

  return database.transaction(
    { workspaces: [workspaceId], ...(actor !== undefined && { user: actor }) },
    async (tx) => {
      if (key !== undefined) {
        const [[lock], [kept]] = await tx.flight([
          bind(TAKE_KEY, workspaceId, operation, key),
          bind(FIND_ANSWER, workspaceId, operation, key),
        ] as const);
        if (!lock?.taken) throw new Refusal('idempotency_in_progress', undefined, { retryAfterSeconds: BUSY_RETRY_S });
        if (kept && !kept.fingerprint.equals(fingerprint)) throw new Refusal('idempotency_key_reused');
        if (kept) return { resource: JSON.parse(kept.answer) as T, isReplay: true };
      }

      const { writes, answer } = await make(tx);
      const made = await tx.flight([...writes, answer]);
      const { resource } = made.at(-1)?.[0] as { resource: T };
      await tx.commit(
        key === undefined
          ? []
          : [
              bind(KEEP_ANSWER, workspaceId, operation, key, fingerprint, JSON.stringify(resource)),
              bind(FORGET_EXPIRED, workspaceId),
            ],
      );
      return { resource, isReplay: false };
    },
  );
}
