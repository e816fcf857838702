import { bind, statement, type Bound } from '@banking/postgres';

/** What is to be done: one piece for a subject of a kind. */
export interface Work {
  readonly workspaceId: number;
  /** Who does it: the name its handler has. */
  readonly kind: string;
  readonly subjectId: number;
  /** RFC 3339. Now, when it is left out. */
  readonly dueAt?: string | undefined;
}

const OPEN_WORK = statement(
  'open_work',
  `insert into work (workspace_id, kind, subject_id, due_at)
   select w, k, s, coalesce(d, statement_timestamp())
   from unnest($1::bigint[], $2::text[], $3::bigint[], $4::timestamptz[]) u(w, k, s, d)`,
);

/** The write that puts work into the queue, to travel with what makes it necessary. */
export function openWork(list: readonly Work[]): Bound<unknown> {
  return bind(
    OPEN_WORK,
    list.map(({ workspaceId }) => workspaceId),
    list.map(({ kind }) => kind),
    list.map(({ subjectId }) => subjectId),
    list.map(({ dueAt }) => dueAt ?? null),
  );
}
