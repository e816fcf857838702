import { bind, sqlStatement, type BoundStatement } from '@banking/postgres';

/** One piece of work for a subject. */
export interface Work {
  readonly workspaceId: number;
  /** The name of its handler. */
  readonly kind: string;
  readonly subjectId: number;
  /** RFC 3339. Default: now. */
  readonly dueAt?: string | undefined;
}

const OPEN_WORK = sqlStatement(
  'open_work',
  `insert into work (workspace_id, kind, subject_id, due_at)
   select w, k, s, coalesce(d, statement_timestamp())
   from unnest($1::bigint[], $2::text[], $3::bigint[], $4::timestamptz[]) u(w, k, s, d)`,
);

/** The write that puts work into the queue, for the database transaction that makes it necessary. */
export function openWork(list: readonly Work[]): BoundStatement<unknown> {
  return bind(
    OPEN_WORK,
    list.map(({ workspaceId }) => workspaceId),
    list.map(({ kind }) => kind),
    list.map(({ subjectId }) => subjectId),
    list.map(({ dueAt }) => dueAt ?? null),
  );
}
