import type { PayoutStatus, TransactionStatus } from '@banking/domain';
import { bind, type Database, scopesOf, sqlStatement } from '@banking/postgres';
import type { Decision } from './decide-payout.js';
import { lockTransactions } from './discrepancies.js';
import { type NoteChanges, PAYOUT } from './open-payouts.js';
import { lockPayoutWork } from './record-rail-events.js';

/** A payout that waits for the decision of a hook or of an operator. */
export interface HeldPayout {
  readonly workspaceId: number;
  readonly transactionId: number;
  readonly accountId: number;
  /** The amount that left the account, without the fee: minor units of the account's currency. */
  readonly amount: string;
  /** ISO 4217. */
  readonly currencyCode: string;
  readonly rail: string;
  /** RFC 3339. */
  readonly createdAt: string;
  /** When the hook held it: RFC 3339. Undefined if the hook has not decided. */
  readonly heldAt?: string;
  /** In the words of the hook; without a decision, why there is none. */
  readonly reason?: string;
}

/** The payouts of a network that wait for a decision. */
export interface HeldCount {
  readonly rail: string;
  /** At most 1000 over all networks. */
  readonly payouts: number;
  /** The age of the oldest. */
  readonly seconds: number;
}

/** Over all workspaces. */
export const COUNT_HELD_PAYOUTS = sqlStatement<HeldCount>(
  'count_held_payouts',
  'select rail, payouts, seconds from held_payouts()',
);

/** Counts them over all workspaces. */
export async function countHeldPayouts(database: Database): Promise<readonly HeldCount[]> {
  const [rows] = await database.pipeline({}, [bind(COUNT_HELD_PAYOUTS)] as const);
  return rows;
}

const LISTED_MAX = 100;

const LIST_HELD = sqlStatement<{ held: HeldPayout }>(
  'list_held_payouts',
  `select json_strip_nulls(json_build_object(
            'workspaceId', p.workspace_id, 'transactionId', p.transaction_id, 'accountId', t.account_id, 'amount', t.amount::text,
            'currencyCode', c.code, 'rail', p.rail, 'createdAt', rfc3339(p.created_at), 'heldAt', rfc3339(d.decided_at),
            'reason', case when d.transaction_id is null then w.reason else d.reason end)) as held
   from payout p
   cross join lateral (
     select t.account_id, t.amount, t.currency_id from transfer t
     where t.workspace_id = p.workspace_id and t.transaction_id = p.transaction_id and t.direction = 'debit' and t.type <> 'fee'
     limit 1) t
   join currency c on c.id = t.currency_id
   left join payout_decision d on d.workspace_id = p.workspace_id and d.transaction_id = p.transaction_id
   left join work w on w.workspace_id = p.workspace_id and w.kind = '${PAYOUT}' and w.subject_id = p.transaction_id
   where p.workspace_id = any($1::bigint[]) and p.needs_decision and p.status = 'due' and not exists (
     select from payout_decision e
     where e.workspace_id = p.workspace_id and e.transaction_id = p.transaction_id and e.decision <> 'hold')
   order by p.created_at, p.workspace_id, p.transaction_id
   limit $2`,
);

/** The payouts of these workspaces that wait for a decision, the oldest first, at most 100. */
export async function listHeldPayouts(
  database: Database,
  workspaceIds: readonly number[],
): Promise<{ readonly payouts: readonly HeldPayout[]; readonly hasMore: boolean }> {
  const found: HeldPayout[] = [];
  for (const workspaces of scopesOf(workspaceIds)) {
    const [rows] = await database.pipeline({ workspaces }, [bind(LIST_HELD, workspaces, LISTED_MAX + 1)] as const);
    found.push(...rows.map(({ held }) => held));
  }
  const payouts = found.sort((left, right) => (left.createdAt < right.createdAt ? -1 : 1)).slice(0, LISTED_MAX);
  return { payouts, hasMore: found.length > LISTED_MAX };
}

interface PayoutRow {
  readonly payoutStatus: PayoutStatus;
  readonly transactionStatus: TransactionStatus;
  readonly tries: number;
  readonly needsDecision: boolean;
  readonly isDecided: boolean;
}

const FIND_PAYOUT = sqlStatement<PayoutRow>(
  'find_payout_to_decide',
  `select p.status as "payoutStatus", x.status as "transactionStatus", p.tries, p.needs_decision as "needsDecision",
          exists (select from payout_decision d
                  where d.workspace_id = p.workspace_id and d.transaction_id = p.transaction_id and d.decision <> 'hold') as "isDecided"
   from payout p join transaction x on (x.workspace_id, x.id) = (p.workspace_id, p.transaction_id)
   where p.workspace_id = $1 and p.transaction_id = $2`,
);

const STORE_DECISION = sqlStatement(
  'store_decision_of_operator',
  `insert into payout_decision (workspace_id, transaction_id, decided_by, decision, reason) values ($1, $2, 'operator', $3, $4)`,
);

/** The higher fence ends the claim of a worker that asks the hook, or is about to record that the payout is held. */
const MAKE_DUE = sqlStatement(
  'make_decided_payout_due',
  `update work set due_at = clock_timestamp(), leased_until = null, fence = fence + 1, tries = 0, delays = 0, parked_at = null, reason = null
   where workspace_id = $1 and kind = '${PAYOUT}' and subject_id = $2`,
);

export interface DecideHeldPayoutInput {
  readonly workspaceId: number;
  readonly transactionId: number;
  /** `approve`: the worker submits it. `reject`: the worker returns its money. */
  readonly decision: Exclude<Decision, 'hold'>;
  /** Why. Stored with the decision. */
  readonly note: string;
  /** Writes the decision to the audit trail. */
  readonly noteChanges: NoteChanges;
}

/**
 * `not_found`: the workspace has no payout of this transaction. `final`: the transaction is completed or failed. `not_held`: it needs no
 * decision, or it is decided already.
 */
export type DecideOutcome = 'not_found' | 'final' | 'not_held' | 'decided';

/**
 * Decides a payout that the hook holds, or has not decided. The decision is stored once, and the payout is due now: a worker
 * submits it, or returns its money as after a rejection by the network.
 */
export async function decideHeldPayout(database: Database, input: DecideHeldPayoutInput): Promise<DecideOutcome> {
  const { workspaceId, transactionId, decision, note, noteChanges } = input;
  const payouts = [{ workspaceId, transactionId }];
  return database.transaction({ workspaces: [workspaceId], actorType: 'operator' }, async (tx) => {
    // In the order of a worker, which begins a payout under the lock of its work.
    const find = bind(FIND_PAYOUT, workspaceId, transactionId);
    const [, , [payout]] = await tx.pipeline([lockPayoutWork(payouts), lockTransactions(payouts), find] as const);
    const obstacle = obstacleOf(payout);
    if (obstacle) return obstacle;
    const operation = decision === 'approve' ? 'releasePayout' : 'rejectPayout';
    await tx.commit([
      bind(STORE_DECISION, workspaceId, transactionId, decision, note),
      bind(MAKE_DUE, workspaceId, transactionId),
      noteChanges([{ workspaceId, operation, resource: { type: 'transaction', id: transactionId } }]),
    ]);
    return 'decided';
  });
}

function obstacleOf(payout: PayoutRow | undefined): Exclude<DecideOutcome, 'decided'> | undefined {
  if (!payout) return 'not_found';
  if (payout.transactionStatus !== 'pending') return 'final';
  const { payoutStatus, tries, needsDecision, isDecided } = payout;
  return needsDecision && !isDecided && payoutStatus === 'due' && tries === 0 ? undefined : 'not_held';
}
