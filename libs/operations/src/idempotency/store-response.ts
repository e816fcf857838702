import { bind, sqlStatement, type BoundStatement } from '@banking/postgres';
import type { IdempotencyKey } from './idempotency-key.js';

/**
 * SQL that stores the rows of a CTE `made` (workspace_id, operation, key, fingerprint, resource as text) that have a key.
 *
 * It inserts in the order of the key, so that two batches cannot deadlock. An expired response is replaced; row-level security rejects
 * the replacement of any other.
 */
export const STORE_RESPONSES = `insert into idempotency (workspace_id, operation, key, fingerprint, answer)
     select workspace_id, operation, key, fingerprint, resource from made where key is not null
     order by workspace_id, operation, key
     on conflict (workspace_id, operation, key)
     do update set fingerprint = excluded.fingerprint, answer = excluded.answer, created_at = excluded.created_at`;

/** Extends the query of a created resource so that it also stores the resource as the response of a key. */
export function storeResponse<T>(
  query: BoundStatement<{ readonly resource: T }>,
  { workspaceId, operation, key, fingerprint }: IdempotencyKey,
): BoundStatement<{ readonly resource: T }> {
  const { name, text } = query.statement;
  const [w, o, k, f] = [1, 2, 3, 4].map((place) => query.values.length + place);
  const statement = sqlStatement<{ readonly resource: T }>(
    `store_${name}`,
    `with made as (
       select $${w}::bigint as workspace_id, $${o}::text as operation, $${k}::text as key, $${f}::bytea as fingerprint,
              q.resource::text as resource
       from (${text}) q),
     stored as (${STORE_RESPONSES})
     select resource::json as resource from made`,
  );
  return { statement, values: [...query.values, ...bind(statement, workspaceId, operation, key, fingerprint).values] };
}
