import { createHash } from 'node:crypto';
import { isIdempotencyKey, Refusal } from '@banking/domain';
import { canonicalJson, type CanonicalValue } from '@banking/domain/proof';
import { bind, type BoundStatement, compositeOf, type Database, lookup, sqlStatement } from '@banking/postgres';

/** A request to create something: an operation with the values of its path, and the content of the request. */
export interface CreationRequest {
  readonly workspaceId: number;
  /** Unique with the values of the path, such as `placeOrder/17`. */
  readonly operation: string;
  /** All of the request but the values of the path. */
  readonly content: object;
}

/** A caller's key with the hash of the request it stands for. One key has one request per operation and workspace. */
export interface IdempotencyKey {
  readonly workspaceId: number;
  readonly operation: string;
  readonly key: string;
  /** SHA-256 of the canonical JSON of the request's content. */
  readonly fingerprint: Buffer;
}

/** How long the response of a key is stored, in SQL. */
export const RETENTION = 'idempotency_retention()';

/**
 * The key of a request, or undefined if the caller sent none.
 *
 * @throws Refusal `idempotency_key_invalid`
 */
export function keyOf(
  { workspaceId, operation, content }: CreationRequest,
  key: string | undefined,
): IdempotencyKey | undefined {
  if (key === undefined) return undefined;
  if (!isIdempotencyKey(key)) throw new Refusal('idempotency_key_invalid');
  const fingerprint = createHash('sha256')
    .update(canonicalJson(content as CanonicalValue))
    .digest();
  return { workspaceId, operation, key, fingerprint };
}

/** The refusal of a key that another request used first, or undefined if the first request was the same. */
export function keyConflict(
  { fingerprint }: IdempotencyKey,
  first: Pick<IdempotencyKey, 'fingerprint'>,
): Refusal | undefined {
  return fingerprint.equals(first.fingerprint) ? undefined : new Refusal('idempotency_key_reused');
}

/** What is stored of the response to the first request with a key. */
export interface StoredResponse {
  readonly fingerprint: Buffer;
  /** JSON: the created resource, or the record that the operation composes it of. */
  readonly answer: string;
}

const FIND_STORED_RESPONSES = sqlStatement<StoredResponse & { readonly place: number }>(
  'find_stored_responses',
  `select (u.n - 1)::int as place, i.fingerprint, i.answer
   from unnest($1::bigint[], $2::text[], $3::text[]) with ordinality u(w, operation, key, n)
   cross join ${lookup(`select * from idempotency k
     where k.workspace_id = u.w and k.operation = u.operation and k.key = u.key`)} i
   where i.created_at > statement_timestamp() - ${RETENTION}`,
);

/** The stored responses of keys that have one. `place` is the index of the key. */
export const findStoredResponses = (
  keys: readonly IdempotencyKey[],
): BoundStatement<StoredResponse & { readonly place: number }> =>
  bind(
    FIND_STORED_RESPONSES,
    keys.map(({ workspaceId }) => workspaceId),
    keys.map(({ operation }) => operation),
    keys.map(({ key }) => key),
  );

const STORE_RESPONSES = sqlStatement('store_responses', 'select store_answers($1::stored_answer[])');

/** The response of a request with a key. */
interface KeyedResponse {
  readonly key: IdempotencyKey;
  /** JSON: the created resource, or the record that the operation composes it of. */
  readonly answer: string;
}

/** Stores the responses of requests with keys. */
export const storeResponses = (responses: readonly KeyedResponse[]): BoundStatement<unknown> =>
  bind(
    STORE_RESPONSES,
    responses.map(({ key: { workspaceId, operation, key, fingerprint }, answer }) =>
      compositeOf([workspaceId, operation, key, fingerprint, answer]),
    ),
  );

/** How many keys one database transaction reads, and workspaces it locks at most. */
export const BATCH = 1_000;

export const DELETE_EXPIRED = sqlStatement<{ keys_read: number; deleted: number; last_time: string | null }>(
  'delete_expired_keys',
  'select keys_read, deleted, last_time::text as last_time from delete_expired_keys($1, $2)',
);

/** Deletes expired idempotency records of all workspaces, a batch at a time: a chore of the worker. */
export class ExpiredKeys {
  /** Where the last batch ended. Index entries of deleted records stay until a vacuum, and are not read again. */
  private from = '-infinity';

  constructor(private readonly database: Database) {}

  /** Reads one batch and deletes what may be deleted of it. @returns 0 at the end, if the last batch deleted none. @throws Refusal `unavailable` */
  async deleteBatch(): Promise<number> {
    const row = (await this.database.read({}, bind(DELETE_EXPIRED, BATCH, this.from)))!;
    const goesOn = row.keys_read === BATCH && row.last_time !== this.from;
    this.from = goesOn ? row.last_time! : '-infinity';
    return goesOn ? BATCH : row.deleted;
  }
}
