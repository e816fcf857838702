import { bind, sqlStatement, type Database } from '@banking/postgres';
import { EXECUTION, PAYOUT } from '@banking/operations';

/** Something that waits for an operator. It is not a finding, also where a finding was its cause. */
export interface Attention {
  readonly kind: 'payout stop' | 'payout without network' | 'parked work' | 'discrepancy' | 'bank difference';
  readonly workspaceId: number;
  /** The subject, the time and the reason. */
  readonly detail: string;
}

/** The limit per workspace. `banking work list` lists all. */
const LISTED_MAX = 1_000;

const PARKED = sqlStatement<{ detail: string }>(
  'verify_parked_work',
  `select format('%s%s is parked since %s (tries: %s): %s', k.kind || ' ' || k.subject_id, ' of order ' || e.order_id,
                 rfc3339(k.parked_at), k.tries, coalesce(k.reason, 'no reason was recorded')) as detail
   from work k
   left join execution e on k.kind = '${EXECUTION}' and e.workspace_id = $1 and e.id = k.subject_id
   where k.workspace_id = $1 and k.parked_at is not null
   order by k.parked_at, k.kind, k.subject_id limit ${LISTED_MAX}`,
);

const OPEN = sqlStatement<{ detail: string }>(
  'verify_open_discrepancies',
  `select format('discrepancy %s of transaction %s is open since %s: %s', d.id, d.transaction_id, rfc3339(d.opened_at), d.kind) as detail
   from discrepancy d
   where d.workspace_id = $1 and d.resolved_at is null
   order by d.opened_at, d.id limit ${LISTED_MAX}`,
);

const STOP = sqlStatement<{ detail: string }>(
  'verify_payout_stop',
  `select format('payouts are stopped since %s: a verification of the books had findings', rfc3339(stopped_at)) as detail
   from payout_stop where resumed_at is null and $1::bigint = any(workspace_ids)`,
);

const WAITING = sqlStatement<{ detail: string }>(
  'verify_payouts_without_network',
  `select format('payout %s waits for the payment network %s, which is not configured, since %s', p.transaction_id, p.rail,
                 rfc3339(p.created_at)) as detail
   from work k join payout p on p.workspace_id = $1 and p.transaction_id = k.subject_id
   where k.workspace_id = $1 and p.rail <> all($2::text[]) and k.kind = '${PAYOUT}' and k.parked_at is null
   order by p.created_at, p.transaction_id limit ${LISTED_MAX}`,
);

/** Of the bank accounts whose unknown deposits the workspace gets. */
const BANK = sqlStatement<{ detail: string }>(
  'verify_bank_accounts',
  `select format('bank account %s of rail %s has %s differences to the books since %s', r.bank_account, r.rail, r.difference_count,
                 rfc3339(r.compared_at)) as detail
   from bank_reconciliation r join account_code a on a.code = r.suspense_account
   where a.workspace_id = $1 and r.difference_count > 0
   order by r.rail, r.bank_account`,
);

export interface AttentionOptions {
  /** The configured payment networks. Payouts of others wait for an operator. Default: those are not listed. */
  readonly rails?: readonly string[] | undefined;
}

/**
 * Stops of payouts, payouts without a network, parked work, open discrepancies and bank accounts of the workspaces that differ, oldest first
 * in each.
 */
export async function findAttention(
  database: Database,
  workspaceIds: readonly number[],
  { rails }: AttentionOptions = {},
): Promise<Attention[]> {
  const attention: Attention[] = [];
  for (const workspaceId of workspaceIds) {
    const [stop, waiting, parked, open, bank] = await database.pipeline({ workspaces: [workspaceId] }, [
      bind(STOP, workspaceId),
      bind(WAITING, workspaceId, rails ?? null),
      bind(PARKED, workspaceId),
      bind(OPEN, workspaceId),
      bind(BANK, workspaceId),
    ] as const);
    attention.push(...stop.map(({ detail }) => ({ kind: 'payout stop' as const, workspaceId, detail })));
    attention.push(...waiting.map(({ detail }) => ({ kind: 'payout without network' as const, workspaceId, detail })));
    attention.push(...parked.map(({ detail }) => ({ kind: 'parked work' as const, workspaceId, detail })));
    attention.push(...open.map(({ detail }) => ({ kind: 'discrepancy' as const, workspaceId, detail })));
    attention.push(...bank.map(({ detail }) => ({ kind: 'bank difference' as const, workspaceId, detail })));
  }
  return attention;
}
