import { bind, statement, type Database } from '@banking/postgres';
import { PAYOUT } from '../open-payouts.js';

/** A piece of the queue as an operator sees it. */
export interface QueuedWork {
  readonly workspaceId: number;
  readonly kind: string;
  readonly subjectId: number;
  /** `parked` waits for an operator, `running` is being done, `waiting` is due now or later. */
  readonly state: 'parked' | 'running' | 'waiting';
  readonly tries: number;
  /** RFC 3339. */
  readonly dueAt: string;
  readonly parkedAt?: string;
  /** Why the last try came to nothing. */
  readonly reason?: string;
}

const LIST_WORK = statement<{
  workspace_id: bigint;
  kind: string;
  subject_id: bigint;
  state: QueuedWork['state'];
  tries: number;
  due_at: string;
  parked_at: string | null;
  reason: string | null;
}>(
  'list_work',
  `select workspace_id, kind, subject_id, tries, reason, rfc3339(due_at) as due_at, rfc3339(parked_at) as parked_at,
          case when parked_at is not null then 'parked' when leased_until > clock_timestamp() then 'running' else 'waiting' end as state
   from work
   where not $1 or parked_at is not null
   order by parked_at is null, due_at, workspace_id, kind, subject_id
   limit $2`,
);
const RELEASE_WORK = statement<{ subject_id: bigint }>(
  'release_work',
  `update work set parked_at = null, tries = 0, reason = null, due_at = clock_timestamp()
   where workspace_id = $1 and kind = $2 and subject_id = $3 and parked_at is not null
   returning subject_id`,
);
const RELEASE_PAYOUT = statement(
  'release_payout',
  `update payout set status = 'due', parked_at = null, updated_at = statement_timestamp()
   where workspace_id = $1 and transaction_id = $3 and $2 = '${PAYOUT}' and status = 'parked'`,
);

/** What is in the queue, over all workspaces: what is parked first, then the longest due. */
export async function listWork(
  database: Database,
  { isParked = false, limit = 100 }: { readonly isParked?: boolean; readonly limit?: number } = {},
): Promise<QueuedWork[]> {
  const [rows] = await database.flight({}, [bind(LIST_WORK, isParked, limit)] as const);
  return rows.map(({ workspace_id, kind, subject_id, state, tries, due_at, parked_at, reason }) => ({
    workspaceId: Number(workspace_id),
    kind,
    subjectId: Number(subject_id),
    state,
    tries,
    dueAt: due_at,
    ...(parked_at === null ? {} : { parkedAt: parked_at }),
    ...(reason === null ? {} : { reason }),
  }));
}

/** Puts parked work back into the queue, due now and with all its tries. Answers whether it was parked. */
export async function retryWork(
  database: Database,
  { workspaceId, kind, subjectId }: Pick<QueuedWork, 'workspaceId' | 'kind' | 'subjectId'>,
): Promise<boolean> {
  const [released] = await database.write({ workspaces: [workspaceId] }, [
    bind(RELEASE_WORK, workspaceId, kind, subjectId),
    bind(RELEASE_PAYOUT, workspaceId, kind, subjectId),
  ] as const);
  return released.length > 0;
}
