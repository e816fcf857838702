import { createHash } from 'node:crypto';
import { isIdempotencyKey, Refusal, type Created, type Intent } from '@banking/domain';
import { canonicalJson, type CanonicalValue } from '@banking/domain/proof';
import { preparePosting, type Books, type PostedTransaction, type Proposal } from '@banking/ledger';
import {
  bind,
  CommitInDoubtError,
  statement,
  type Bound,
  type Database,
  type Statement,
  type Tx,
} from '@banking/postgres';

/** What a key is good for: an operation of a workspace with the values of its path, and the request it named first. */
export interface Request {
  readonly workspaceId: number;
  readonly operation: string;
  /** Everything the caller asked for, path values aside. */
  readonly content: object;
}

/** How long an answer is kept: as an SQL interval. */
export const KEPT = `interval '30 days'`;
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
/** What an operation makes: the writes that are still to be sent, and the statement that answers with the resource. */
export interface Making<T> {
  readonly writes: readonly Bound<unknown>[];
  readonly answer: Bound<{ readonly resource: T }>;
}

/**
 * The answer that is kept for the key, if there is one. For what has to ask somebody else before it can be made: a request that is
 * repeated should neither wait for them nor fail by them.
 *
 * @throws Refusal `idempotency_key_invalid`, `idempotency_key_reused`
 */
export async function answeredBefore<T>(
  database: Database,
  request: Request,
  { idempotencyKey: key }: Intent,
): Promise<Created<T> | undefined> {
  if (key === undefined) return undefined;
  requireKey(key);
  const { workspaceId, operation } = request;
  const kept = await database.read({ workspaces: [workspaceId] }, bind(FIND_ANSWER, workspaceId, operation, key));
  return kept && replayOf<T>(kept, fingerprintOf(request));
}

/**
 * Makes something at most once for a key. The thing and the answer are committed together; a refusal keeps nothing and leaves the key
 * free.
 *
 * @param make decides and says what is to be written; it may read in `tx`, and it may refuse
 * @throws Refusal `idempotency_key_invalid`, `idempotency_in_progress`, `idempotency_key_reused`, and what `make` refuses
 */
export function makeOnce<T>(
  database: Database,
  request: Request,
  intent: Intent,
  actor: number | undefined,
  make: (tx: Tx) => Promise<Making<T>>,
): Promise<Created<T>> {
  return commitOnce(database, [], request, intent, actor, async (tx, keeping) => {
    const { writes, answer } = await make(tx);
    return tx.commit([...writes, ...keeping(answer)]);
  });
}

/**
 * Posts money at most once for a key, as `makeOnce` makes other things: the money, what is written with it and the answer are
 * committed together. The lock of the key comes before those of the accounts.
 *
 * @param make what else is to be written, and the answer, once it is known what was posted
 * @throws Refusal as `makeOnce` does, and what the books refuse
 */
export async function postOnce<T>(
  books: Books,
  request: Request,
  intent: Intent,
  actor: number | undefined,
  proposal: Proposal,
  make: (posted: readonly PostedTransaction[]) => Making<T>,
): Promise<Created<T>> {
  const { workspaces, finish } = await preparePosting(books, [proposal]);
  return commitOnce(books.database, workspaces, request, intent, actor, async (tx, keeping) => {
    const { rows } = await finish(tx, {
      alongside: ([outcome]) => {
        if (!outcome?.posted) throw outcome?.refused ?? outcome?.failed ?? new Error('a proposal without an outcome');
        const { writes, answer } = make(outcome.posted);
        return [...writes, ...keeping(answer)];
      },
    });
    return rows;
  });
}

/** The statements that keep an answer for the key, where there is one. The last of them answers with the resource. */
type Keeping = (answer: Bound<{ readonly resource: unknown }>) => readonly Bound<unknown>[];

/**
 * Lets `work` commit at most once for a key.
 *
 * @param workspaces whose rows it touches besides
 * @param work commits, with the statements that keep the answer as the last, and returns the rows of what it sent
 * @throws Refusal as `makeOnce` does, what `work` refuses, and `outcome_unknown` where the connection was lost around the commit and the key
 *   does not tell either
 */
export async function commitOnce<T>(
  database: Database,
  workspaces: readonly number[],
  request: Request,
  { idempotencyKey: key }: Intent,
  actor: number | undefined,
  work: (tx: Tx, keeping: Keeping) => Promise<readonly (readonly unknown[])[]>,
): Promise<Created<T>> {
  if (key !== undefined) requireKey(key);
  const { workspaceId, operation } = request;
  const fingerprint = fingerprintOf(request);
  const keeping: Keeping = (answer) =>
    key === undefined ? [answer] : [keep(answer, [workspaceId, operation, key, fingerprint])];
  const scope = {
    workspaces: [...new Set([workspaceId, ...workspaces])],
    ...(actor !== undefined && { user: actor }),
  };

  const answered = async (tx: Tx): Promise<Created<T> | undefined> => {
    if (key === undefined) return undefined;
    const [[lock], [kept]] = await tx.flight([
      bind(TAKE_KEY, workspaceId, operation, key),
      bind(FIND_ANSWER, workspaceId, operation, key),
    ] as const);
    if (!lock?.taken) throw new Refusal('idempotency_in_progress', undefined, { retryAfterSeconds: BUSY_RETRY_S });
    return kept && replayOf<T>(kept, fingerprint);
  };

  const making = database.transaction(scope, async (tx) => {
    const before = await answered(tx);
    if (before) return before;
    const rows = await work(tx, keeping);
    const { resource } = rows.at(-1)?.[0] as { resource: T };
    return { resource, isReplay: false };
  });
  return making.catch(async (error: unknown) => {
    if (key === undefined || !(error instanceof CommitInDoubtError)) throw error;
    // The lost session holds the lock of the key to its end. Behind that lock its outcome is known.
    const made = await database.transaction(scope, answered).catch(() => {
      throw error;
    });
    if (made) return { ...made, isReplay: false };
    throw new Refusal('unavailable', 'The database was lost on the way. Nothing was done.', { cause: error, retryAfterSeconds: BUSY_RETRY_S }); // prettier-ignore
  });
}

function requireKey(key: string): void {
  if (!isIdempotencyKey(key)) throw new Refusal('idempotency_key_invalid');
}

export function fingerprintOf({ content }: Request): Buffer {
  return createHash('sha256')
    .update(canonicalJson(content as CanonicalValue))
    .digest();
}

function replayOf<T>(kept: { readonly fingerprint: Buffer; readonly answer: string }, fingerprint: Buffer): Created<T> {
  if (!kept.fingerprint.equals(fingerprint)) throw new Refusal('idempotency_key_reused');
  return { resource: JSON.parse(kept.answer) as T, isReplay: true };
}

/** The statement of an answer as one that keeps it too: what is answered now is what is answered again. */
function keep<T>(answer: Bound<{ readonly resource: T }>, row: readonly unknown[]): Bound<{ readonly resource: T }> {
  const { name, text } = answer.statement;
  const first = answer.values.length + 1;
  const kept: Statement<{ readonly resource: T }> = statement(
    `keep_${name}`,
    `with made as (${text})
     insert into idempotency as kept (workspace_id, operation, key, fingerprint, answer)
     select $${first}::bigint, $${first + 1}::text, $${first + 2}::text, $${first + 3}::bytea, made.resource::text from made
     on conflict (workspace_id, operation, key)
     do update set fingerprint = excluded.fingerprint, answer = excluded.answer, created_at = excluded.created_at
     where kept.created_at <= statement_timestamp() - ${KEPT}
     returning answer::json as resource`,
  );
  return { statement: kept, values: [...answer.values, ...bind(kept, ...row).values] };
}
