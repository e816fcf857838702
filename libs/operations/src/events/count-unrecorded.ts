import { sqlStatement } from '@banking/postgres';

/** Statements whose changes are not events yet, up to 10,000, and the age of the oldest. Reads no more rows. */
export const COUNT_UNRECORDED = sqlStatement<{ rows: number; seconds: number }>(
  'count_unrecorded_changes',
  `select (select count(*)::int from (select from change_outbox limit 10000) o) as rows,
     coalesce((
       select greatest(extract(epoch from statement_timestamp() - created_at), 0)::float8 from change_outbox order by id limit 1), 0) as seconds`,
);
