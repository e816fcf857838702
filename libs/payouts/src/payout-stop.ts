import type { Timestamp } from '@banking/domain';
import type { Finding } from '@banking/ledger';
import { bind, sqlStatement, type Database } from '@banking/postgres';

/** A stop of payouts that is open: a verification of the books had findings, and no operator has resumed payouts. */
export interface PayoutStop {
  readonly id: number;
  readonly stoppedAt: Timestamp;
  readonly findings: number;
  /** The workspaces with a finding. */
  readonly workspaceIds: readonly number[];
}

interface StopRow {
  id: bigint;
  stopped_at: Timestamp;
  finding_count: number;
  workspace_ids: readonly number[];
}

/** Findings that are stored as evidence. */
const STORED_MAX = 100;

const STOP_PAYOUTS = sqlStatement(
  'stop_payouts',
  `insert into payout_stop (finding_count, workspace_ids, findings)
   select $1, $2::bigint[], $3::jsonb
   on conflict do nothing`,
);
export const READ_STOP = sqlStatement<StopRow>(
  'read_payout_stop',
  `select id, rfc3339(stopped_at) as stopped_at, finding_count, to_json(workspace_ids) as workspace_ids
   from payout_stop where resumed_at is null`,
);
const RESUME_PAYOUTS = sqlStatement<{ id: bigint }>(
  'resume_payouts',
  `update payout_stop set resumed_at = statement_timestamp() where id = $1 and resumed_at is null returning id`,
);

/** Stops payouts of all workers, unless they are stopped. A restart does not resume them. */
export async function stopPayouts(database: Database, findings: readonly Finding[]): Promise<void> {
  const workspaceIds = new Set(findings.flatMap(({ workspaceId }) => (workspaceId === undefined ? [] : [workspaceId])));
  const evidence = JSON.stringify(findings.slice(0, STORED_MAX));
  await database.pipeline({}, [bind(STOP_PAYOUTS, findings.length, [...workspaceIds], evidence)]);
}

/** @throws Refusal `unavailable` */
export async function readPayoutStop(database: Database): Promise<PayoutStop | undefined> {
  const row = await database.read({}, bind(READ_STOP));
  if (!row) return undefined;
  const { id, stopped_at: stoppedAt, finding_count: findings, workspace_ids: workspaceIds } = row;
  return { id: Number(id), stoppedAt, findings, workspaceIds };
}

/**
 * Resumes payouts after a stop. The caller has verified the books.
 *
 * @param provisioning the database as the provisioning role: the service itself must not resume payouts
 * @returns false if they were resumed before
 */
export async function resumePayouts(provisioning: Database, stopId: number): Promise<boolean> {
  const [resumed] = await provisioning.write({}, [bind(RESUME_PAYOUTS, stopId)] as const);
  return resumed.length > 0;
}
