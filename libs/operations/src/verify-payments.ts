import type { Finding, RangeOptions } from '@banking/ledger';
import { statement, type Database } from '@banking/postgres';
import { ORDER_KEY_CHECK, verifyOrderKeys } from './orders/verify-order-keys.js';
import { ORDER_FAULTS } from './orders/verify-orders.js';
import { RUN_TIME_CHECK, verifyRunTimes } from './orders/verify-run-times.js';
import { DISCREPANCY_FAULTS } from './verify-discrepancies.js';
import { type Fault, findInRanges, type RangeCheck } from './verify-ranges.js';
import { ACCOUNT_TRAIL, ORDER_TRAIL } from './verify-trails.js';

/** What must hold of returns and payouts. */
const FAULTS: readonly RangeCheck[] = [
  {
    check: 'a return gives back to the account what was taken, and once',
    over: {
      transaction: statement<Fault>(
        'verify_returns',
        `select format('return %s does not give back what transaction %s took', r.id, r.return_of) as detail
       from transaction r
       where r.workspace_id = $1 and r.id > $2 and r.id <= $3 and r.return_of is not null
         and (select array_agg(format('%s %s %s %s %s', t.account_id, t.currency_id, t.direction, t.amount, t.type) order by t.account_id, t.amount)
              from transfer t where t.workspace_id = $1 and t.transaction_id = r.id and t.account_version is not null)
             is distinct from
             (select array_agg(format('%s %s %s %s return', t.account_id, t.currency_id,
                               case t.direction when 'debit' then 'credit' else 'debit' end, t.amount) order by t.account_id, t.amount)
              from transfer t
              where t.workspace_id = $1 and t.transaction_id = r.return_of and t.account_version is not null and t.type <> 'fee')
       union all
       select format('transaction %s has %s returns', r.return_of, s.returns)
       from transaction r
         cross join lateral (
           select count(*) as returns, max(o.id) as last from transaction o
           where o.workspace_id = $1 and o.return_of = r.return_of) s
       where r.workspace_id = $1 and r.id > $2 and r.id <= $3 and r.return_of is not null and s.returns > 1 and s.last = r.id`,
      ),
    },
  },
  {
    check: 'every transaction that failed has its return',
    over: {
      transaction: statement<Fault>(
        'verify_failed',
        `select format('transaction %s failed and was not returned', x.id) as detail
       from transaction x
       where x.workspace_id = $1 and x.id > $2 and x.id <= $3 and x.status = 'failed'
         and not exists (select from transaction r where r.workspace_id = $1 and r.return_of = x.id)`,
      ),
    },
  },
  {
    check: 'every remittance has its transaction',
    over: {
      remittance: statement<Fault>(
        'verify_remittances',
        `select format('remittance %s tracks transaction %s, which is not there', m.id, m.transaction_id) as detail
       from remittance m
       where m.workspace_id = $1 and m.id > $2 and m.id <= $3
         and not exists (select from transaction x where x.workspace_id = $1 and x.id = m.transaction_id)`,
      ),
    },
  },
  {
    check: 'every remittance event has its remittance',
    over: {
      remittance_event: statement<Fault>(
        'verify_remittance_events',
        `select format('event %s is of remittance %s, which is not there', e.id, e.remittance_id) as detail
       from remittance_event e
       where e.workspace_id = $1 and e.id > $2 and e.id <= $3
         and not exists (select from remittance m where m.workspace_id = $1 and m.id = e.remittance_id)`,
      ),
    },
  },
  {
    check: 'every payout has its transaction, and stands where it stands',
    over: {
      payout: statement<Fault>(
        'verify_payouts',
        `select format('payout of transaction %s is %s, the transaction %s', p.transaction_id, p.status, coalesce(x.status, 'is not there')) as detail
       from payout p left join transaction x on x.workspace_id = $1 and x.id = p.transaction_id
       where p.workspace_id = $1 and p.transaction_id > $2 and p.transaction_id <= $3
         and x.status is distinct from case p.status when 'settled' then 'completed' when 'failed' then 'failed' else 'pending' end`,
      ),
    },
  },
  {
    check: 'every remittance has its payout, and every payout its remittance',
    over: {
      remittance: statement<Fault>(
        'verify_tracked_remittances',
        `select format('transaction %s has a remittance and no payout', m.transaction_id) as detail
         from remittance m
         where m.workspace_id = $1 and m.id > $2 and m.id <= $3
           and not exists (select from payout p where p.workspace_id = $1 and p.transaction_id = m.transaction_id)`,
      ),
      payout: statement<Fault>(
        'verify_tracked_payouts',
        `select format('transaction %s has a payout and no remittance', p.transaction_id) as detail
         from payout p
         where p.workspace_id = $1 and p.transaction_id > $2 and p.transaction_id <= $3
           and not exists (select from remittance m where m.workspace_id = $1 and m.transaction_id = p.transaction_id)`,
      ),
    },
  },
  {
    check: 'every payout that nobody has handed over yet is in the queue',
    over: {
      payout: statement<Fault>(
        'verify_forgotten_payouts',
        `select format('payout of transaction %s is %s and nobody will take it up', p.transaction_id, p.status) as detail
       from payout p
       where p.workspace_id = $1 and p.transaction_id > $2 and p.transaction_id <= $3 and p.status in ('due', 'submitting', 'parked')
         and not exists (
           select from work k where k.workspace_id = $1 and k.kind = 'payout' and k.subject_id = p.transaction_id
             and (k.parked_at is null) = (p.status <> 'parked'))`,
      ),
    },
  },
  ...DISCREPANCY_FAULTS,
  ...ORDER_FAULTS,
  ACCOUNT_TRAIL,
  ORDER_TRAIL,
];

/**
 * Proves of the given workspaces what the books alone do not know: that orders were carried out as they say, that money which came
 * back is what had left, and that the rows written together without foreign keys are together.
 *
 * Reads in ranges, each in a database transaction of its own. Every check compares a range with the rows that were committed with it,
 * in one statement, so payments may go on meanwhile.
 */
export async function verifyPayments(
  database: Database,
  workspaceIds: readonly number[],
  options: RangeOptions = {},
): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const workspaceId of workspaceIds) {
    findings.push(...(await findInRanges(database, workspaceId, FAULTS, options)));
    findings.push(...(await verifyRunTimes(database, workspaceId, options)));
    findings.push(...(await verifyOrderKeys(database, workspaceId, options)));
  }
  return findings;
}

/** What `verifyPayments` proves, for whoever prints it. */
export const PAYMENT_CHECKS: readonly string[] = [...FAULTS.map(({ check }) => check), RUN_TIME_CHECK, ORDER_KEY_CHECK];
