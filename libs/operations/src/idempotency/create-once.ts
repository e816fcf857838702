import { setTimeout as delay } from 'node:timers/promises';
import { type Created, Refusal, type RefusalReason, type RequestOptions, RETRY_AFTER_S } from '@banking/domain';
import {
  backoffMs,
  bind,
  type BoundStatement,
  CommitInDoubtError,
  type Database,
  type DbTransaction,
  RETRY_POLICIES,
  type RetryPolicy,
  sqlStatement,
} from '@banking/postgres';
import { type AuditedCall, type AuditedResource, auditEntry, callerOf, noteAudit } from '../audit/audited-call.js';
import type { Reading, ResourceQuery } from '../resources/reading.js';
import {
  type CreationRequest,
  findStoredResponses,
  type IdempotencyKey,
  keyConflict,
  keyOf,
  type StoredResponse,
  storeResponses,
} from './idempotency-key.js';

/** Holds the key to the end of the database transaction. A concurrent request with the same key is refused and does not wait. */
const LOCK = `hashtextextended(jsonb_build_array('idempotency', $1::bigint, $2::text, $3::text)::text, 0)`;

const LOCK_KEY = sqlStatement<{ is_locked: boolean }>(
  'lock_idempotency_key',
  `select pg_try_advisory_xact_lock(${LOCK}) as is_locked`,
);

/** Waits for the holder, at most for the lock timeout of the session. */
const AWAIT_KEY = sqlStatement<{ is_locked: boolean }>(
  'await_idempotency_key',
  `select true as is_locked from pg_advisory_xact_lock(${LOCK})`,
);

/** The writes that create a resource. */
export interface Creation<Row, T> {
  readonly writes: readonly BoundStatement<unknown>[];
  /** The resource in the audit trail. */
  readonly audited: AuditedResource;
  /** Reads the created resource after the writes. */
  readonly resource: ResourceQuery<Row, T>;
}

/**
 * The stored response of a request, if there is one. For operations that call another service first: a repeated request does not depend
 * on that service.
 *
 * @throws Refusal `idempotency_key_invalid`, `idempotency_key_reused`
 */
export async function findReplay<T>(
  database: Database,
  request: CreationRequest,
  { idempotencyKey }: RequestOptions,
): Promise<Created<T> | undefined> {
  const key = keyOf(request, idempotencyKey);
  if (!key) return undefined;
  const stored = await database.read({ workspaces: [key.workspaceId] }, findStoredResponses([key]));
  return replayOf<T>(key, stored);
}

/**
 * Creates a resource at most once for a key. The resource and its response are committed together. A refusal stores nothing and leaves
 * the key free.
 *
 * @param caller for the audit trail, which gets an entry with the resource
 * @param create decides and returns the writes; it may read in `tx`, and it may refuse
 * @throws Refusal `idempotency_key_invalid`, `idempotency_in_progress`, `idempotency_key_reused`, and refusals of `create`
 * @throws Refusal `outcome_unknown` if the connection is lost around the commit and the key does not tell the outcome
 */
export async function createOnce<Row, T>(
  { database, reference }: Pick<Reading, 'database' | 'reference'>,
  request: CreationRequest,
  { idempotencyKey }: RequestOptions,
  caller: AuditedCall,
  create: (tx: DbTransaction) => Promise<Creation<Row, T>>,
): Promise<Created<T>> {
  const key = keyOf(request, idempotencyKey);
  const scope = { workspaces: [request.workspaceId], user: caller.actor };
  const composeCreated = await reference.beforeChange();
  try {
    return await database.transaction(scope, async (tx) => {
      const replay = key && (await lockAndFind<T>(tx, key));
      if (replay) return replay;
      const { writes, audited, resource } = await create(tx);
      const { bound, compose } = resource;
      const composeRow = (rows: readonly unknown[][]) => {
        const row = rows.at(-1)?.[0] as Row | undefined;
        if (row === undefined) throw new Error(`${request.operation} created a resource that cannot be read`);
        return composeCreated((current) => compose(current, row));
      };
      const operation = request.operation.split('/')[0]!;
      const entry = auditEntry(request.workspaceId, { operation, resource: audited }, callerOf(caller));
      const statements = [...writes, noteAudit([entry]), bound];
      if (!key) return { resource: await composeRow(await tx.commit(statements)), isReplay: false };
      const created = await composeRow(await tx.change(statements));
      await tx.commit([storeResponses([{ key, answer: JSON.stringify(created) }])]);
      return { resource: created, isReplay: false };
    });
  } catch (error) {
    if (key === undefined || !(error instanceof CommitInDoubtError)) throw error;
    // The lost session holds the lock of the key to its end. After that lock is released, its outcome is known.
    const made = await database
      .transaction(scope, (tx) => lockAndFind<T>(tx, key, AWAIT_KEY))
      .catch(() => Promise.reject(error));
    if (made) return { ...made, isReplay: false };
    const message = 'The connection to the database was lost. Nothing was done.';
    throw new Refusal('unavailable', message, { cause: error, retryAfterSeconds: RETRY_AFTER_S });
  }
}

/** Locks the key, then finds the stored response in a query of its own, which reads what an earlier holder committed. */
async function lockAndFind<T>(
  tx: DbTransaction,
  key: IdempotencyKey,
  lock = LOCK_KEY,
): Promise<Created<T> | undefined> {
  const [[locked], [stored]] = await tx.pipeline([
    bind(lock, key.workspaceId, key.operation, key.key),
    findStoredResponses([key]),
  ] as const);
  if (!locked!.is_locked) {
    throw new Refusal('idempotency_in_progress', undefined, { retryAfterSeconds: RETRY_AFTER_S });
  }
  return replayOf<T>(key, stored);
}

/** @throws Refusal `idempotency_key_reused` */
function replayOf<T>(key: IdempotencyKey, stored: StoredResponse | undefined): Created<T> | undefined {
  if (!stored) return undefined;
  const conflict = keyConflict(key, stored);
  if (conflict) throw conflict;
  return { resource: JSON.parse(stored.answer) as T, isReplay: true };
}

/** An order waits for a server that restarts, and the caller's own deadline is longer. A change of a row is retried once. */
export const IN_DOUBT_POLICIES = {
  order: RETRY_POLICIES.commitInDoubt,
  change: { ...RETRY_POLICIES.commitInDoubt, triesMax: 2 },
} as const satisfies Readonly<Record<string, RetryPolicy>>;

/** Refusals after which it is still unknown whether an earlier attempt was committed. */
const UNDECIDED: ReadonlySet<RefusalReason> = new Set(['unavailable', 'outcome_unknown']);

/**
 * Makes a change, and retries it if its commit is in doubt.
 *
 * @param attempt recognises the effect of an earlier attempt if `isRetry`; it waits for the locks of the lost session
 * @throws CommitInDoubtError of the first attempt if no retry decides
 */
export async function retryInDoubt<T>(
  attempt: (isRetry: boolean) => Promise<T>,
  policy: RetryPolicy,
  signal?: AbortSignal,
): Promise<T> {
  try {
    return await attempt(false);
  } catch (doubt) {
    if (!(doubt instanceof CommitInDoubtError)) throw doubt;
    for (let retry = 1; retry < policy.triesMax; retry += 1) {
      await delay(retryDelayMs(policy, retry, Math.random()));
      if (signal?.aborted === true) break;
      try {
        return await attempt(true);
      } catch (error) {
        if (isDecided(error)) throw error;
      }
    }
    throw doubt;
  }
}

/**
 * The delay before a retry. The first retry is immediate, because most often only the connection is lost.
 *
 * @param retry from 1
 * @param random from 0 to below 1
 */
export function retryDelayMs(policy: RetryPolicy, retry: number, random: number): number {
  return retry === 1 ? 0 : backoffMs(policy, retry - 1, random);
}

/** A refusal of the change itself is a decision. Any other error leaves the outcome of the first attempt unknown. */
const isDecided = (error: unknown): boolean => error instanceof Refusal && !UNDECIDED.has(error.reason);
