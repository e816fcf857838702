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
  type RowsOfEach,
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

/** Waits for the turn only with the key, so that a request whose key is in use does not wait either. */
const LOCK_KEY_AND_TURN = sqlStatement<{ is_locked: boolean }>(
  'lock_idempotency_key_and_turn',
  `select is_locked, case when is_locked then pg_advisory_xact_lock(hashtextextended($4::text, 0)) is null end as is_in_turn
   from (select pg_try_advisory_xact_lock(${LOCK}) as is_locked offset 0) l`,
);

const LOCK_TURN = sqlStatement('lock_turn', 'select pg_advisory_xact_lock(hashtextextended($1::text, 0))');

/** Waits for the holder, at most for the lock timeout of the session. */
const AWAIT_KEY = sqlStatement<{ is_locked: boolean }>(
  'await_idempotency_key',
  `select true as is_locked from pg_advisory_xact_lock(${LOCK})`,
);

/** A limit of creations. Those of one turn are decided one at a time, until their database transactions end. */
export interface CreationLimit<Row> {
  /** The name of the turn. */
  readonly turn: string;
  /** Read when it is the turn of the request; the row of the last statement is checked. */
  readonly reads: readonly BoundStatement<unknown>[];
  /** @throws Refusal */
  check(row: Row): void;
}

/** What would be created, where creations are only tried, was not created with its key before, and nothing refuses it. */
export class NotCreatedBefore extends Error {}

/** The writes that create a resource. */
export interface Creation<Row, T> {
  readonly writes: readonly BoundStatement<unknown>[];
  /** The resource in the audit trail. Without it, the writes note their own entry. */
  readonly audited?: AuditedResource;
  /** Reads the created resource after the writes. */
  readonly resource: ResourceQuery<Row, T>;
}

/**
 * The stored response of a request, if there is one. For operations that call another service first: a repeated request does not depend
 * on that service.
 *
 * @param reads sent with it
 * @throws Refusal `idempotency_key_invalid`, `idempotency_key_reused`
 */
export async function findReplay<T, R extends readonly BoundStatement<unknown>[] = []>(
  database: Database,
  request: CreationRequest,
  { idempotencyKey }: RequestOptions,
  reads: R = [] as readonly BoundStatement<unknown>[] as R,
): Promise<{ readonly replay: Created<T> | undefined; readonly rows: RowsOfEach<R> }> {
  const key = keyOf(request, idempotencyKey);
  const find = key ? [findStoredResponses([key])] : [];
  const all = await database.pipeline({ workspaces: [request.workspaceId] }, [...find, ...reads]);
  return {
    replay: key && storedReplay<T>(key, all[0]![0] as StoredResponse | undefined),
    rows: all.slice(find.length) as RowsOfEach<R>,
  };
}

/**
 * Creates a resource at most once for a key. The resource and its response are committed together. A refusal stores nothing and leaves
 * the key free.
 *
 * @param caller for the audit trail, which gets an entry with the resource
 * @param create decides and returns the writes; it may read in `tx`, and it may refuse. It calls `endTrial` before it writes
 * @throws Refusal `idempotency_key_invalid`, `idempotency_in_progress`, `idempotency_key_reused`, and refusals of `create`
 * @throws Refusal `outcome_unknown` if the connection is lost around the commit and the key does not tell the outcome
 * @throws NotCreatedBefore instead of writing, where creations are only tried
 */
export function createOnce<Row, T>(
  reading: Pick<Reading, 'database' | 'reference' | 'isOfTrials'>,
  request: CreationRequest,
  options: RequestOptions,
  caller: AuditedCall,
  create: (tx: DbTransaction) => Promise<Creation<Row, T>>,
): Promise<Created<T>> {
  return once<Row, T>(reading, request, options, caller, async ({ tx, key, write }) => {
    const replay = key && replayOf<T>(key, await tx.pipeline(lockAndFind(key)));
    if (replay) return replay;
    const creation = await create(tx);
    endTrial(reading);
    return write(creation);
  });
}

/** @throws NotCreatedBefore where creations are only tried */
export function endTrial({ isOfTrials }: Pick<Reading, 'isOfTrials'>): void {
  if (isOfTrials) throw new NotCreatedBefore();
}

/**
 * Creates a resource as `createOnce` does, whose writes are known before. They are sent with the lock of the key, so that it takes two
 * round trips, and are rolled back for a replay or a refusal.
 *
 * @throws Refusal of the limit, and as `createOnce` does
 */
export function createKnownOnce<Row, T, Limited>(
  reading: Pick<Reading, 'database' | 'reference'>,
  request: CreationRequest,
  options: RequestOptions,
  caller: AuditedCall,
  creation: Creation<Row, T>,
  limit?: CreationLimit<Limited>,
): Promise<Created<T>> {
  return once<Row, T>(reading, request, options, caller, ({ key, write }) => {
    const locks = key ? lockAndFind(key, limit?.turn) : limit ? [bind(LOCK_TURN, limit.turn)] : [];
    const before = [...locks, ...(limit?.reads ?? [])];
    return write(creation, before, (rows) => {
      const replay = key && replayOf<T>(key, rows);
      if (!replay) limit?.check(rows[before.length - 1]![0] as Limited);
      return replay;
    });
  });
}

/** A creation in its database transaction. */
interface Creating<Row, T> {
  readonly tx: DbTransaction;
  readonly key: IdempotencyKey | undefined;
  /**
   * Writes and commits.
   *
   * @param before sent before the writes
   * @param decide receives the rows; it may refuse, and what it returns is returned instead, and nothing is written
   */
  write(
    creation: Creation<Row, T>,
    before?: readonly BoundStatement<unknown>[],
    decide?: (rows: readonly unknown[][]) => Created<T> | undefined,
  ): Promise<Created<T>>;
}

async function once<Row, T>(
  { database, reference }: Pick<Reading, 'database' | 'reference'>,
  request: CreationRequest,
  { idempotencyKey }: RequestOptions,
  caller: AuditedCall,
  make: (creating: Creating<Row, T>) => Promise<Created<T>>,
): Promise<Created<T>> {
  const key = keyOf(request, idempotencyKey);
  const scope = { workspaces: [request.workspaceId], user: caller.actor };
  const composeCreated = await reference.beforeChange();
  const writeIn =
    (tx: DbTransaction): Creating<Row, T>['write'] =>
    async ({ writes, audited, resource: { bound, compose } }, before = [], decide = () => undefined) => {
      const composeRow = (rows: readonly unknown[][], isMade = false) => {
        const row = rows.at(-1)?.[0] as Row | undefined;
        if (row === undefined) throw new Error(`${request.operation} created a resource that cannot be read`);
        return composeCreated((current) => compose(current, row), isMade);
      };
      const operation = request.operation.split('/')[0]!;
      const entries = audited
        ? [auditEntry(request.workspaceId, { operation, resource: audited }, callerOf(caller))]
        : [];
      const notes = entries.length > 0 ? [noteAudit(entries)] : [];
      const statements = [...before, ...writes, ...notes, bound];
      if (!key && before.length === 0) {
        return { resource: await composeRow(await tx.commit(statements), true), isReplay: false };
      }
      const rows = await tx.pipeline(statements);
      const replay = decide(rows);
      if (replay) return replay;
      const created = await composeRow(rows);
      await tx.commit(key ? [storeResponses([{ key, answer: JSON.stringify(created) }])] : []);
      return { resource: created, isReplay: false };
    };
  try {
    return await database.transaction(scope, (tx) => make({ tx, key, write: writeIn(tx) }));
  } catch (error) {
    if (key === undefined || !(error instanceof CommitInDoubtError)) throw error;
    // The lost session holds the lock of the key to its end. After that lock is released, its outcome is known.
    const made = await database
      .transaction(scope, async (tx) =>
        replayOf<T>(key, await tx.pipeline([awaitKey(key), findStoredResponses([key])])),
      )
      .catch(() => Promise.reject(error));
    if (made) return { ...made, isReplay: false };
    const message = 'The connection to the database was lost. Nothing was done.';
    throw new Refusal('unavailable', message, { cause: error, retryAfterSeconds: RETRY_AFTER_S });
  }
}

const awaitKey = ({ workspaceId, operation, key }: IdempotencyKey) => bind(AWAIT_KEY, workspaceId, operation, key);

/** Locks the key, then finds the stored response in a query of its own, which reads what an earlier holder committed. */
function lockAndFind(key: IdempotencyKey, turn?: string): BoundStatement<unknown>[] {
  const values = [key.workspaceId, key.operation, key.key];
  const lock = turn === undefined ? bind(LOCK_KEY, ...values) : bind(LOCK_KEY_AND_TURN, ...values, turn);
  return [lock, findStoredResponses([key])];
}

/**
 * @param rows of the lock and of what it found
 * @throws Refusal `idempotency_in_progress`, `idempotency_key_reused`
 */
function replayOf<T>(key: IdempotencyKey, rows: readonly unknown[][]): Created<T> | undefined {
  const [locked, found] = rows as readonly unknown[][] as [[{ is_locked: boolean }], StoredResponse[]];
  if (!locked[0].is_locked) {
    throw new Refusal('idempotency_in_progress', undefined, { retryAfterSeconds: RETRY_AFTER_S });
  }
  return storedReplay<T>(key, found[0]);
}

/** @throws Refusal `idempotency_key_reused` */
function storedReplay<T>(key: IdempotencyKey, stored: StoredResponse | undefined): Created<T> | undefined {
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
