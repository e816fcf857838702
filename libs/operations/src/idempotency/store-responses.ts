import { bind, sqlStatement, type BoundStatement } from '@banking/postgres';
import type { IdempotencyKey } from './idempotency-key.js';

/**
 * Inserts in the order of the key, so that two batches cannot deadlock. An expired response is replaced; row-level security rejects the
 * replacement of any other.
 */
const STORE_RESPONSES = sqlStatement(
  'store_responses',
  `insert into idempotency (workspace_id, operation, key, fingerprint, answer)
   select w, operation, key, decode(fingerprint, 'hex'), answer
   from unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[]) u(w, operation, key, fingerprint, answer)
   order by w, operation, key
   on conflict (workspace_id, operation, key)
   do update set fingerprint = excluded.fingerprint, answer = excluded.answer, created_at = excluded.created_at`,
);

/** The response of a request with a key. */
export interface KeyedResponse {
  readonly key: IdempotencyKey;
  /** JSON: the created resource, or the record that the operation composes it of. */
  readonly answer: string;
}

/** Stores the responses of requests with keys. */
export const storeResponses = (responses: readonly KeyedResponse[]): BoundStatement<unknown> =>
  bind(
    STORE_RESPONSES,
    responses.map(({ key }) => key.workspaceId),
    responses.map(({ key }) => key.operation),
    responses.map(({ key }) => key.key),
    responses.map(({ key }) => key.fingerprint.toString('hex')),
    responses.map(({ answer }) => answer),
  );
