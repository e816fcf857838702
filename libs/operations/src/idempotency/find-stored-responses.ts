import { bind, sqlStatement, type BoundStatement } from '@banking/postgres';
import { type IdempotencyKey, RETENTION } from './idempotency-key.js';

/** What is stored of the response to the first request with a key. */
export interface StoredResponse {
  readonly fingerprint: Buffer;
  /** JSON: the created resource, or the record that the operation composes it of. */
  readonly answer: string;
}

/** Looks up each key by itself (`offset 0`): a plan made without statistics would read all keys of the operation. */
const FIND_STORED_RESPONSES = sqlStatement<StoredResponse & { readonly place: number }>(
  'find_stored_responses',
  `select (u.n - 1)::int as place, i.fingerprint, i.answer
   from unnest($1::bigint[], $2::text[], $3::text[]) with ordinality u(w, operation, key, n)
   cross join lateral (select * from idempotency k
     where k.workspace_id = u.w and k.operation = u.operation and k.key = u.key offset 0) i
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
