import { type Finding, ownLegsOf } from '@banking/ledger';
import { type Database, sqlStatement } from '@banking/postgres';
import { LIMIT_COUNTERS, LIMIT_TRAIL, APPROVAL_CHECKS, OPERATOR_CHECK } from './verify-controls.js';
import { DIGEST_CHECK } from './verify-digests.js';
import { EVENT_CHAIN, REQUIRED_EVENTS, WEBHOOK_CHECK } from './verify-events.js';
import { ORDER_CHECKS, ORDER_KEY_CHECK, RUN_TIMES_CHECK, verifyOrderKeys } from './verify-orders.js';
import { CROSSING_CHECKS, PAYEE_CHECK, verifyPayees } from './verify-payees.js';
import { type FindingRow, type RangeCheck, verifyInRanges, type VerifyOptions } from './verify-ranges.js';
import { ACCOUNT_TRAIL, AUDIT_CHAIN, AUDIT_ENTRIES, ORDER_TRAIL } from './verify-trails.js';

/** The text of the one movement that the transaction of deposit `d` has on accounts of customers. */
const MOVED = `(
  select string_agg(format('%s %s %s %s %s', t.account_id, t.currency_id, t.direction, t.amount, t.type), ', ') from transfer t
  where t.workspace_id = $1 and t.transaction_id = d.transaction_id)`;

/** A workspace that was moved has its deposits, and their entries are where it came from. */
export const DEPOSIT_CHECK: RangeCheck = {
  check: 'every deposit has credited its account with the amount of its entry, and is taken back exactly if it ended',
  over: {
    deposit: sqlStatement<FindingRow>(
      'verify_deposits',
      `select format('deposit %s is %s and %s', f.id, f.status, f.why) as detail
       from (
         select d.id, d.status, case
             when e.amount <> d.amount or e.direction <> 'credit' then 'is not of the amount of its entry'
             when d.status <> 'pending' and d.transaction_id is not null and e.outcome is distinct from 'deposit' and e.deposit_id is not null
               then 'its entry is still open'
             when d.status in ('booked', 'unmatched') and d.transaction_id is null then 'has no transaction'
             when d.status = 'pending' and d.transaction_id is not null then 'has a transaction'
             when d.transaction_id is null then null
             when x.id is null or x.status <> 'completed' or x.return_of is not null then 'its transaction is none of a deposit'
             when ${MOVED} is distinct from format('%s %s credit %s funding', d.account_id, d.currency_id, d.amount)
               then format('transaction %s does not credit its account with its amount', d.transaction_id)
             when (r.id is not null) <> (d.status in ('assigned', 'returned'))
               then format('transaction %s is %s', d.transaction_id, case when r.id is null then 'not returned' else 'returned' end) end as why
         from deposit d
           left join entries_of_deposits($1, $2, $3) e on e.deposit_id = d.id
           left join transaction x on x.workspace_id = $1 and x.id = d.transaction_id
           left join lateral (
             select o.id from transaction o where o.workspace_id = $1 and o.return_of = d.transaction_id limit 1) r on true
         where d.workspace_id = $1 and d.id > $2 and d.id <= $3) f
       where f.why is not null`,
    ),
  },
};

/** The rules of returns, contradictory events and their resolutions. */
const DISCREPANCY_CHECKS: readonly RangeCheck[] = [
  {
    check: 'every return is of a transaction that failed or came back, resolves a discrepancy or ends a deposit',
    over: {
      transaction: sqlStatement<FindingRow>(
        'verify_return_reasons',
        `select format('return %s is of transaction %s, which is %s', r.id, x.id, x.status) as detail
         from transaction r join transaction x on x.workspace_id = $1 and x.id = r.return_of
         where r.workspace_id = $1 and r.id > $2 and r.id <= $3 and x.status <> 'failed'
           and not exists (select from discrepancy d where d.workspace_id = $1 and d.resolution_transaction_id = r.id)
           and not exists (select from remittance_event e where e.workspace_id = $1 and e.transaction_id = x.id and e.is_return)
           and not exists (
             select from deposit d where d.workspace_id = $1 and d.transaction_id = x.id and d.status in ('assigned', 'returned'))`,
      ),
    },
  },
  {
    check: 'every contradictory event has its discrepancy',
    over: {
      remittance_event: sqlStatement<FindingRow>(
        'verify_contradictions',
        `select format('transaction %s is %s and has event %s, %s, without a discrepancy', x.id, x.status, e.id, e.status) as detail
         from remittance_event e
           join transaction x on x.workspace_id = $1 and x.id = e.transaction_id
         where e.workspace_id = $1 and e.id > $2 and e.id <= $3 and (x.status, e.status) in (('completed', 'RJCT'), ('failed', 'ACCC'), ('failed', 'ACSC'))
           and not (e.status = 'RJCT' and exists (select from transaction r where r.workspace_id = $1 and r.return_of = x.id)
             and exists (select from remittance_event b where b.workspace_id = $1 and b.transaction_id = x.id and b.is_return))
           and not exists (
             select from discrepancy d where d.workspace_id = $1 and d.transaction_id = x.id
               and (d.resolution_transaction_id is not null
                 or d.kind = case e.status when 'RJCT' then 'credited_then_rejected' else 'rejected_then_credited' end))
         union all
         select format('transaction %s has event %s under an id with another status, without a discrepancy', e.transaction_id, e.id)
         from remittance_event e
         where e.workspace_id = $1 and e.id > $2 and e.id <= $3
           and exists (
             select from remittance_event o
             where o.workspace_id = $1 and o.transaction_id = e.transaction_id and o.provider_event = e.provider_event and o.id < e.id)
           and not exists (
             select from discrepancy d where d.workspace_id = $1 and d.transaction_id = e.transaction_id and d.kind = 'event_reused')`,
      ),
    },
  },
  {
    check: 'every resolution moved the money of its transaction, the way it says',
    over: {
      transaction: sqlStatement<FindingRow>(
        'verify_resolutions',
        `select format('discrepancy %s was resolved by transaction %s, which does not fit', d.id, d.resolution_transaction_id) as detail
         from discrepancy d
         where d.workspace_id = $1 and d.resolution_transaction_id > $2 and d.resolution_transaction_id <= $3
           and (not exists (
               with recursive origin (id) as (
                 select r.return_of from transaction r where r.workspace_id = $1 and r.id = d.resolution_transaction_id
                 union
                 select r.return_of from origin join transaction r on r.workspace_id = $1 and r.id = origin.id)
               select from origin where origin.id = d.transaction_id)
             or exists (
               select from transfer t
               where t.workspace_id = $1 and t.transaction_id = d.resolution_transaction_id
                 and t.direction <> case d.resolution when 'returned' then 'credit' else 'debit' end))`,
      ),
    },
  },
];

/** The references that the database checks with one query a statement, and no foreign key. */
export const REFERENCE_CHECK: RangeCheck = {
  check: 'every transfer, order and conversion names rows that exist',
  over: {
    transfer: sqlStatement<FindingRow>(
      'verify_transfer_references',
      `select format('transfer %s names %s, which is not there', t.id, missing.name) as detail
       from leg t cross join lateral (
         select format('transaction %s', t.transaction_id) as name
         where not exists (select from transaction x where x.workspace_id = $1 and x.id = t.transaction_id)
         union all
         select format('account %s in currency %s', t.account_id, t.currency_id)
         where not exists (
           select from account a where a.workspace_id = $1 and a.id = t.account_id and a.currency_id = t.currency_id)
         union all
         select format('recipient %s', t.recipient_id)
         where t.recipient_id is not null
           and not exists (select from recipient r where r.workspace_id = $1 and r.id = t.recipient_id)) missing
       where t.workspace_id = $1 and t.transaction_id > $2 and t.transaction_id <= $3`,
    ),
    customer_order: sqlStatement<FindingRow>(
      'verify_order_references',
      `select format('order %s names %s, which is not there', o.id, missing.name) as detail
       from customer_order o cross join lateral (
         select format('account %s', o.account_id) as name
         where not exists (select from account a where a.workspace_id = $1 and a.id = o.account_id)
         union all
         select format('recipient %s', o.recipient_id)
         where not exists (select from recipient r where r.workspace_id = $1 and r.id = o.recipient_id)) missing
       where o.workspace_id = $1 and o.id > $2 and o.id <= $3`,
    ),
    transaction: sqlStatement<FindingRow>(
      'verify_conversion_references',
      `select format('the conversion of transaction %s names currency %s, which is not there', c.transaction_id, named.id) as detail
       from conversion c cross join lateral unnest(array[c.source_currency_id, c.target_currency_id]) named (id)
       where c.workspace_id = $1 and c.transaction_id > $2 and c.transaction_id <= $3
         and not exists (select from currency where currency.id = named.id)`,
    ),
  },
};

/** The rules of returns and payouts, and all others. */
const RANGE_CHECKS: readonly RangeCheck[] = [
  {
    check: 'a return gives back to the account what was taken, and once',
    over: {
      transaction: sqlStatement<FindingRow>(
        'verify_returns',
        `select format('return %s does not give back what transaction %s took', r.id, r.return_of) as detail
       from transaction r
       where r.workspace_id = $1 and r.id > $2 and r.id <= $3 and r.return_of is not null
         and (select array_agg(format('%s %s %s %s %s', t.account_id, t.currency_id, t.direction, t.amount, t.type) order by t.account_id, t.amount)
              from transfer t where t.workspace_id = $1 and t.transaction_id = r.id)
             is distinct from
             (select array_agg(format('%s %s %s %s return', t.account_id, t.currency_id,
                               case t.direction when 'debit' then 'credit' else 'debit' end, t.amount) order by t.account_id, t.amount)
              from transfer t
              where t.workspace_id = $1 and t.transaction_id = r.return_of and t.type <> 'fee')
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
      transaction: sqlStatement<FindingRow>(
        'verify_failed',
        `select format('transaction %s failed and was not returned', x.id) as detail
       from transaction x
       where x.workspace_id = $1 and x.id > $2 and x.id <= $3 and x.status = 'failed'
         and not exists (select from transaction r where r.workspace_id = $1 and r.return_of = x.id)`,
      ),
    },
  },
  {
    check: 'every event of a network has its payout',
    over: {
      remittance_event: sqlStatement<FindingRow>(
        'verify_remittance_events',
        `select format('event %s is of the payout of transaction %s, which is not there', e.id, e.transaction_id) as detail
       from remittance_event e
       where e.workspace_id = $1 and e.id > $2 and e.id <= $3
         and not exists (select from payout p where p.workspace_id = $1 and p.transaction_id = e.transaction_id)`,
      ),
    },
  },
  {
    check: 'every payout has its transaction, and stands where it stands',
    over: {
      payout: sqlStatement<FindingRow>(
        'verify_payouts',
        `select format('payout of transaction %s is %s, the transaction %s', p.transaction_id, p.status, coalesce(x.status, 'is not there')) as detail
       from payout p left join transaction x on x.workspace_id = $1 and x.id = p.transaction_id
       where p.workspace_id = $1 and p.transaction_id > $2 and p.transaction_id <= $3
         and x.status is distinct from case p.status when 'settled' then 'completed' when 'failed' then 'failed' else 'pending' end`,
      ),
    },
  },
  {
    check: 'every payment that leaves has its payout, and every payout its payment',
    over: {
      transaction: sqlStatement<FindingRow>(
        'verify_leaving',
        `select format('transaction %s leaves over a network and has no payout', x.id) as detail
       from transaction x
       where x.workspace_id = $1 and x.id > $2 and x.id <= $3 and x.return_of is null
         and not exists (select from payout p where p.workspace_id = $1 and p.transaction_id = x.id)
         and exists (select from ${ownLegsOf('settlement', { workspaceId: '$1', id: 'x.id' })} l where l.direction = 'credit')`,
      ),
      payout: sqlStatement<FindingRow>(
        'verify_left',
        `select format('transaction %s has a payout and does not leave over a network', p.transaction_id) as detail
       from payout p
       where p.workspace_id = $1 and p.transaction_id > $2 and p.transaction_id <= $3
         and not exists (
           select from ${ownLegsOf('settlement', { workspaceId: '$1', id: 'p.transaction_id' })} l
           join transaction x on x.workspace_id = $1 and x.id = p.transaction_id and x.return_of is null
           where l.direction = 'credit')`,
      ),
    },
  },
  {
    check: 'every payout that is not submitted is in the queue',
    over: {
      payout: sqlStatement<FindingRow>(
        'verify_unqueued_payouts',
        `select format('payout of transaction %s is %s and not in the queue', p.transaction_id, p.status) as detail
       from payout p
       where p.workspace_id = $1 and p.transaction_id > $2 and p.transaction_id <= $3 and p.status in ('due', 'submitting', 'parked')
         and not exists (
           select from work k where k.workspace_id = $1 and k.kind = 'payout' and k.subject_id = p.transaction_id
             -- The work of a payout that no worker began may be parked too, where its decision cannot be carried out.
             and (p.status = 'due' or (k.parked_at is null) = (p.status <> 'parked')))`,
      ),
    },
  },
  ...DISCREPANCY_CHECKS,
  DEPOSIT_CHECK,
  OPERATOR_CHECK,
  ...CROSSING_CHECKS,
  ...ORDER_CHECKS,
  ...APPROVAL_CHECKS,
  REFERENCE_CHECK,
  DIGEST_CHECK,
  ACCOUNT_TRAIL,
  ORDER_TRAIL,
  LIMIT_COUNTERS,
  LIMIT_TRAIL,
  RUN_TIMES_CHECK,
  AUDIT_CHAIN,
  AUDIT_ENTRIES,
  EVENT_CHAIN,
  REQUIRED_EVENTS,
  WEBHOOK_CHECK,
];

/**
 * Verifies what the books alone do not contain: that orders were executed as placed, that a return equals the payment, and that rows
 * without a foreign key have the rows that were written with them.
 *
 * Reads in ranges, each in its own database transaction. Each check compares a range with rows of the same commit in one SQL statement,
 * so payments can continue.
 */
export async function verifyPayments(
  database: Database,
  workspaceIds: readonly number[],
  options: VerifyOptions = {},
): Promise<Finding[]> {
  const findings: (readonly Finding[])[] = [];
  for (const workspaceId of workspaceIds) {
    findings.push(await verifyInRanges(database, workspaceId, RANGE_CHECKS, options));
    findings.push(await verifyPayees(database, workspaceId, options));
    findings.push(await verifyOrderKeys(database, workspaceId, options));
  }
  return findings.flat();
}

/** The checks of `verifyPayments`, by name. */
export const PAYMENT_CHECKS: readonly string[] = [
  ...RANGE_CHECKS.map(({ check }) => check),
  PAYEE_CHECK,
  ORDER_KEY_CHECK,
];
