import {
  type Approval,
  type ApprovalDecisionInput,
  type ApprovalName,
  type ApprovalStatus,
  Refusal,
} from '@banking/domain';
import { bind, type Database, type DbTransaction, sqlStatement } from '@banking/postgres';
import { type AuditedCall, auditEntry, type AuditEntry, callerOf, noteAudit } from '../audit/audited-call.js';
import { IN_DOUBT_POLICIES, retryInDoubt } from '../idempotency/create-once.js';
import type { Reading } from '../resources/reading.js';
import { approvalQuery, isShownTo } from './read-approvals.js';

/** An approval under its lock, and what the caller is to it. */
interface LockedApproval {
  readonly version: number;
  readonly status: ApprovalStatus;
  readonly is_expired: boolean;
  readonly is_by_caller: boolean;
  readonly is_maker: boolean;
  /** Whether the caller has a role of a requirement. */
  readonly may_decide: boolean;
  readonly is_admin: boolean;
  readonly decided: 'approve' | 'reject' | null;
}

/** An order is locked before its approval: its cancellation withdraws the approval, and the approval ends the order. */
const LOCK_ORDER = sqlStatement(
  'lock_order_of_approval',
  `select from customer_order o
   where o.workspace_id = $1 and o.id = (select a.order_id from approval a where a.workspace_id = $1 and a.id = $2) for no key update`,
);

/** A person behind the maker counts as the maker. */
const LOCK_APPROVAL = sqlStatement<LockedApproval>(
  'lock_approval',
  `select a.version, a.status, a.expires_at <= clock_timestamp() as is_expired, a.maker is not distinct from $3 as is_by_caller,
     $3 = any(a.makers || makers_of(a.workspace_id, a.maker)) as is_maker,
     exists (
       select from jsonb_array_elements(a.requirements) r (required)
       where (r.required -> 'roles') ?| deciding_roles(a.workspace_id, $3, '{}')) as may_decide,
     has_role($3, a.workspace_id, 'admin') as is_admin,
     (select d.decision from approval_decision d
      where d.workspace_id = a.workspace_id and d.approval_id = a.id and d.user_id = $3) as decided
   from approval a where a.workspace_id = $1 and a.id = $2 and ${isShownTo('a', '$3')} for no key update of a`,
);

const INSERT_DECISION = sqlStatement(
  'insert_approval_decision',
  `insert into approval_decision (workspace_id, approval_id, user_id, decision, comment) values ($1, $2, $3, $4, $5)`,
);

/** A query of its own, which reads the decision that was just made. */
const STEP_DECIDED = sqlStatement(
  'step_decided_approval',
  `update approval set version = version + 1, updated_at = statement_timestamp(),
     status = case when $3 = 'reject' then 'rejected' when has_approvals(workspace_id, id) then 'approved' else status end
   where workspace_id = $1 and id = $2`,
);

const WITHDRAW = sqlStatement(
  'withdraw_approval',
  `update approval set version = version + 1, updated_at = statement_timestamp(), status = 'withdrawn'
   where workspace_id = $1 and id = $2`,
);

/**
 * Decides on a request. The last approval makes it due, in the same database transaction.
 *
 * @throws Refusal `approval_not_found`, `approver_is_maker`, `role_insufficient`, `approval_closed`, `approval_expired`, `approval_changed`
 */
export function decideApproval(reading: Reading, caller: AuditedCall, input: ApprovalDecisionInput): Promise<Approval> {
  const { workspaceId, actor } = caller;
  const { approvalId, decision, comment, version } = input;
  return changed(reading, caller, approvalId, async (tx, locked) => {
    if (locked.decided === decision) return [];
    if (locked.is_maker) throw new Refusal('approver_is_maker');
    if (!locked.may_decide) throw new Refusal('role_insufficient');
    if (locked.decided !== null) throw new Refusal('approval_closed');
    requireOpen(locked);
    if (locked.version !== version) throw new Refusal('approval_changed');
    await tx.pipeline([bind(INSERT_DECISION, workspaceId, approvalId, actor, decision, comment ?? null)]);
    await tx.pipeline([bind(STEP_DECIDED, workspaceId, approvalId, decision)]);
    return [entryOf(caller, 'decideApproval', approvalId)];
  });
}

/**
 * Withdraws a request for its maker or an administrator. A repeated one is answered as done.
 *
 * @throws Refusal `approval_not_found`, `role_insufficient`, `approval_closed`, `approval_expired`
 */
export function withdrawApproval(
  reading: Reading,
  caller: AuditedCall,
  { approvalId }: ApprovalName,
): Promise<Approval> {
  return changed(reading, caller, approvalId, async (tx, locked) => {
    if (!locked.is_by_caller && !locked.is_admin) throw new Refusal('role_insufficient');
    if (locked.status === 'withdrawn') return [];
    requireOpen(locked);
    await tx.pipeline([bind(WITHDRAW, caller.workspaceId, approvalId)]);
    return [entryOf(caller, 'withdrawApproval', approvalId)];
  });
}

/** @throws Refusal `approval_closed`, `approval_expired` */
function requireOpen({ status, is_expired }: LockedApproval): void {
  if (status === 'expired' || (status === 'required' && is_expired)) throw new Refusal('approval_expired');
  if (status !== 'required') throw new Refusal('approval_closed');
}

const entryOf = (caller: AuditedCall, operation: string, id: number): AuditEntry =>
  auditEntry(caller.workspaceId, { operation, resource: { type: 'approval', id } }, callerOf(caller));

/** Changes an approval under its lock, and reads it. A repeated change finds that it was made. */
async function changed(
  { database, reference }: Reading,
  caller: AuditedCall,
  approvalId: number,
  change: (tx: DbTransaction, locked: LockedApproval) => Promise<readonly AuditEntry[]>,
): Promise<Approval> {
  const { workspaceId, actor } = caller;
  const { bound, compose } = approvalQuery(workspaceId, approvalId);
  const row = await retryInDoubt(
    () =>
      database.transaction({ workspaces: [workspaceId], user: actor }, async (tx) => {
        const [, [locked]] = await tx.pipeline([
          bind(LOCK_ORDER, workspaceId, approvalId),
          bind(LOCK_APPROVAL, workspaceId, approvalId, actor ?? null),
        ] as const);
        if (!locked) throw new Refusal('approval_not_found');
        const entries = await change(tx, locked);
        const [[row]] = await tx.commit([bound, ...(entries.length === 0 ? [] : [noteAudit(entries)])] as const);
        return row!;
      }),
    IN_DOUBT_POLICIES.change,
  );
  return compose(await reference.current(), row);
}

/** How many requests one database transaction lets expire. */
const EXPIRED_MAX = 100;

const APPROVALS_DUE = sqlStatement<{ workspace_id: bigint }>(
  'approvals_due',
  'select distinct workspace_id from approvals_due($1)',
);

const EXPIRE = sqlStatement<{ workspace_id: bigint; id: bigint }>(
  'expire_approvals',
  `with due as materialized (
     select e.workspace_id, e.id, e.order_id from approval e
     where e.workspace_id = any($1::bigint[]) and e.status = 'required' and e.expires_at <= clock_timestamp()
     order by e.workspace_id, e.id limit $2
   ), held as materialized (
     select o.workspace_id, o.id from customer_order o join due d on d.workspace_id = o.workspace_id and d.order_id = o.id
     for no key update of o skip locked)
   update approval a set status = 'expired', version = a.version + 1, updated_at = statement_timestamp()
   from (
     select e.workspace_id, e.id from approval e join due d on d.workspace_id = e.workspace_id and d.id = e.id
     where e.status = 'required' and (d.order_id is null or (d.workspace_id, d.order_id) in (select workspace_id, id from held))
     for no key update of e skip locked) e
   where a.workspace_id = e.workspace_id and a.id = e.id
   returning a.workspace_id, a.id`,
);

/** Lets requests expire whose time has passed, a batch at a time: a chore of the worker. @returns how many @throws Refusal `unavailable` */
export async function expireApprovals(database: Database): Promise<number> {
  const [due] = await database.pipeline({}, [bind(APPROVALS_DUE, EXPIRED_MAX)] as const);
  if (due.length === 0) return 0;
  const workspaces = due.map(({ workspace_id }) => Number(workspace_id));
  return database.transaction({ workspaces }, async (tx) => {
    const [expired] = await tx.pipeline([bind(EXPIRE, workspaces, EXPIRED_MAX)] as const);
    const entries = expired.map(({ workspace_id, id }) =>
      auditEntry(
        Number(workspace_id),
        { operation: 'expireApproval', resource: { type: 'approval', id: Number(id) } },
        { actor: { type: 'system' } },
      ),
    );
    await tx.commit(entries.length === 0 ? [] : [noteAudit(entries)]);
    return expired.length;
  });
}
