import { PAYER } from '@banking/domain';
import { accountKey } from '@banking/ledger';
import { BatchedCalls, bind, type Database, lookup, sqlStatement } from '@banking/postgres';
import type { Claim } from '@banking/work-queue';
import { contentOfRow } from '../resources/compose-order.js';
import { type DueRun, FAILED_RUNS_MAX } from './prepared-order.js';

const READ_RUNS = sqlStatement<
  Omit<DueRun, 'workspaceId' | 'executionId' | 'placedBy'> & {
    readonly place: number;
    readonly placed_by: bigint | null;
  }
>(
  'read_runs',
  `select (u.n - 1)::int as place, ${contentOfRow('o')} as order, e.sequence, rfc3339(e.scheduled_at) as "scheduledAt", o.placed_by,
          (select count(*)::int from (
             select l.status, l.failure_code from execution l
             where (l.workspace_id, l.order_id) = (o.workspace_id, o.id) and l.sequence < e.sequence
             order by l.sequence desc limit $3) l where l.status = 'failed' and l.failure_code <> 'payout_rejected') as "failedBefore",
          o.paused_at is not null or pause_required(o.workspace_id, o.id) is not null as "isPaused",
          o.placed_by is null or has_role(o.placed_by, o.workspace_id, '${PAYER}') as "placerMayPay",
          (select a.request::jsonb -> 'shown' from approval a where a.workspace_id = o.workspace_id and a.id = o.approval_id) as approved
   from unnest($1::bigint[], $2::bigint[]) with ordinality u(w, execution, n)
   cross join ${lookup('select * from execution x where x.workspace_id = u.w and x.id = u.execution')} e
   cross join ${lookup('select * from customer_order c where (c.workspace_id, c.id) = (e.workspace_id, e.order_id)')} o
   where e.status = 'scheduled' and o.status = 'active'`,
);

type NamedRun = Pick<Claim, 'workspaceId' | 'subjectId'>;

/** A run that is being prepared. */
interface Place {
  readonly run: DueRun;
  /** Set when it is prepared. */
  leave?: () => void;
}

/**
 * The due runs that a process carries out. Those that a worker claims together are read together, and those of one account are submitted in
 * the order in which they fell due, then by their ids. So an account that holds too little pays what was due first, as a bank does.
 */
export class DueRuns {
  private readonly reads: BatchedCalls<NamedRun, DueRun | undefined>;
  /** By account, in the order in which they fell due. */
  private readonly places = new Map<string, Place[]>();

  constructor(database: Database) {
    // Without a limit, so that all runs of a claim are known before one of them is submitted.
    this.reads = new BatchedCalls((runs: readonly NamedRun[]) => readRuns(database, runs), Infinity);
  }

  /** The run, or undefined if it took place or its order was cancelled. */
  read({ workspaceId, subjectId }: Claim): Promise<DueRun | undefined> {
    return this.reads.call({ workspaceId, subjectId });
  }

  /**
   * Prepares a run, beside others, and submits it after the runs of its account that fell due before it and are being prepared. Call it as
   * soon as the run is read. A preparation that fails holds up no other run.
   */
  inTurn<P, T>(run: DueRun, prepare: () => Promise<P>, submit: (prepared: P) => Promise<T>): Promise<T> {
    const account = accountKey(run.workspaceId, run.order.accountId);
    const place: Place = { run };
    this.places.set(account, [...(this.places.get(account) ?? []), place].sort(byDue));
    return new Promise((resolve, reject) => {
      const leave = (how: () => void) => {
        place.leave = how;
        this.leaveInOrder(account);
      };
      prepare().then(
        (prepared) => leave(() => void submit(prepared).then(resolve, reject)),
        (error: unknown) => leave(() => reject(error as Error)),
      );
    });
  }

  private leaveInOrder(account: string): void {
    const places = this.places.get(account) ?? [];
    while (places[0]?.leave) places.shift()?.leave?.();
    if (places.length === 0) this.places.delete(account);
  }
}

/** Instants of the database have digits for all microseconds, so their texts are in the order of time. */
function byDue({ run: one }: Place, { run: other }: Place): number {
  if (one.scheduledAt === other.scheduledAt) return one.executionId - other.executionId;
  return one.scheduledAt < other.scheduledAt ? -1 : 1;
}

async function readRuns(database: Database, runs: readonly NamedRun[]): Promise<readonly (DueRun | undefined)[]> {
  const workspaces = [...new Set(runs.map(({ workspaceId }) => workspaceId))];
  const read = bind(
    READ_RUNS,
    runs.map(({ workspaceId }) => workspaceId),
    runs.map(({ subjectId }) => subjectId),
    FAILED_RUNS_MAX - 1,
  );
  const [rows] = await database.pipeline({ workspaces }, [read] as const);
  const due = new Map(rows.map(({ place, ...row }) => [place, row]));
  return runs.map(({ workspaceId, subjectId: executionId }, index) => {
    const row = due.get(index);
    if (!row) return undefined;
    const { placed_by: userId, ...run } = row;
    return { workspaceId, executionId, ...run, ...(userId !== null && { placedBy: Number(userId) }) };
  });
}
