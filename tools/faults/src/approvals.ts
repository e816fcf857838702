import type { Server } from './servers.js';

/** A request that the service accepted as one that waits. */
export interface AcceptedRequest {
  /** In the description of the order, or the name of the recipient. */
  readonly key: string;
  readonly approvalId: number;
}

/** What the service acknowledged to a person. */
export interface Decision {
  readonly approvalId: number;
  readonly decision: 'approve' | 'reject' | 'withdraw';
  /** Of the approver. */
  readonly email?: string;
}

/** The accounts of a workspace that have paid more than their limits, by the transfers of the books. The workspace is no older than its day. */
export const EXCEEDED_LIMITS = `
  select format('account %s has paid %s, above its limit of %s (%s)', l.account_id, s.used, l.value, l.metric) as fault
  from banking.payment_limit l
  cross join lateral (
    select case l.metric when 'amount' then coalesce(sum(t.amount), 0) else count(distinct t.transaction_id) end as used
    from banking.transfer t
    where t.workspace_id = l.workspace_id and t.account_id = l.account_id and t.direction = 'debit' and t.type <> 'fee') s
  where l.workspace_id = $1 and l.scope = 'account' and s.used > l.value`;

interface StoredApproval {
  readonly id: number;
  readonly key: string;
  readonly status: string;
  readonly outcome: string | null;
  readonly reason: string | null;
  readonly approvers: readonly string[];
  readonly rejecters: readonly string[];
  readonly maker: string;
  /** Payments, or recipients, that were made of it. */
  readonly made: number;
  /** Whether it was made before the last decision. */
  readonly isEarly: boolean;
}

const APPROVALS = `
  with keyed as materialized (
    select *, coalesce(request::jsonb #>> '{input,description}', request::jsonb #>> '{input,name}') as key
    from approval where workspace_id = $1),
  made as materialized (
    select description as key, count(distinct transaction_id) as times, min(created_at) as first from transfer
    where workspace_id = $1 and direction = 'debit' and type <> 'fee' group by description
    union all
    select name, count(*), min(created_at) from recipient where workspace_id = $1 group by name)
  select a.id::float8 as id, a.key, a.status, a.outcome, a.outcome_reason as reason, u.email as maker,
         coalesce(d.approvers, '{}') as approvers, coalesce(d.rejecters, '{}') as rejecters, coalesce(m.times, 0)::int as made,
         coalesce(m.first < d.last, false) as "isEarly"
  from keyed a join app_user u on u.id = a.maker
  left join made m on m.key = a.key
  left join (
    select d.approval_id, max(d.created_at) as last, array_agg(p.email) filter (where d.decision = 'approve') as approvers,
           array_agg(p.email) filter (where d.decision = 'reject') as rejecters
    from approval_decision d join app_user p on p.id = d.user_id where d.workspace_id = $1 group by d.approval_id) d on d.approval_id = a.id
  order by a.id`;

/** Payments of an account, however they came into the books, and recipients with a name of a run. */
const MADE = `
  select (select count(distinct transaction_id) from transfer
          where workspace_id = $1 and account_id = $2 and direction = 'debit' and type <> 'fee')::int
    + (select count(*) from recipient where workspace_id = $1 and name like $3)::int as count`;

interface Asked {
  readonly workspaceId: number;
  /** Pays nothing but what was approved. */
  readonly reviewed: { readonly id: number };
  readonly prefix: string;
  /** How many people must approve each request. */
  readonly approvals: number;
}

/**
 * Compares the approvals of a workspace with what was made of them, and with what was acknowledged: each request is carried out once, after
 * the approvals of two people other than its maker, or refused by a limit; and one that was rejected or withdrawn is not carried out.
 */
export async function checkApprovals(
  database: Server,
  { workspaceId, reviewed, prefix, approvals: required }: Asked,
  { requests, decisions }: { readonly requests: readonly AcceptedRequest[]; readonly decisions: readonly Decision[] },
): Promise<string[]> {
  const approvals = await database.query<StoredApproval>(APPROVALS, [workspaceId]);
  const byId = new Map(approvals.map((approval) => [approval.id, approval]));
  const keys = new Set(approvals.map(({ key }) => key));
  const made = await database.count(MADE, [workspaceId, reviewed.id, `${prefix}-%`]);
  const approved = approvals.reduce((sum, approval) => sum + approval.made, 0);
  return [
    ...approvals.flatMap((approval) => faultsOf(approval, required)),
    ...(keys.size < approvals.length ? [`${approvals.length} approvals are of ${keys.size} requests`] : []),
    ...(made === approved ? [] : [`${made} payments and recipients were made, and ${approved} have an approval`]),
    ...requests
      .filter(({ key, approvalId }) => byId.get(approvalId)?.key !== key)
      .map(({ key, approvalId }) => `${key} was acknowledged to wait for approval ${approvalId}, which is not of it`),
    ...decisions.flatMap(({ approvalId, decision, email = '' }) => {
      const { status, approvers = [], rejecters = [] } = byId.get(approvalId) ?? {};
      const isStored = {
        approve: approvers.includes(email),
        reject: rejecters.includes(email) && status === 'rejected',
        withdraw: status === 'withdrawn',
      }[decision];
      return isStored ? [] : [`the decision to ${decision} approval ${approvalId} was acknowledged, and is lost`];
    }),
  ];
}

function faultsOf(
  { id, status, outcome, reason, approvers, rejecters, maker, made, isEarly }: StoredApproval,
  required: number,
): string[] {
  const faults: string[] = [];
  const find = (isFault: boolean, detail: string) => isFault && faults.push(`approval ${id} ${detail}`);
  const isApproved = status === 'approved';
  find(approvers.includes(maker) || rejecters.includes(maker), 'was decided by its maker');
  find(
    isApproved !== (approvers.length === required && rejecters.length === 0),
    `is ${status} with ${approvers.length} approvals`,
  );
  find(rejecters.length > 0 && status !== 'rejected', `is ${status} after a rejection`);
  find(made !== (outcome === 'carried_out' ? 1 : 0), `has the outcome ${outcome}, and was carried out ${made} times`);
  find(isEarly, 'was carried out before its last decision');
  find(isApproved && outcome === null, 'was approved, and was not carried out');
  find(outcome === 'refused' && reason !== 'limit_exceeded', `was refused with ${reason}`);
  return faults;
}

const OUTCOMES = `
  select string_agg(format('%s %s', x.count, x.ended), ', ' order by x.ended) as text
  from (select coalesce(outcome, status) as ended, count(*) from approval where workspace_id = $1 group by 1) x`;

/** How many requests of a workspace ended in each way. */
export async function outcomesOf(database: Server, workspaceId: number): Promise<string> {
  const [row] = await database.query<{ text: string | null }>(OUTCOMES, [workspaceId]);
  return `requests: ${row?.text ?? 'none'}`;
}
