import { parseInstant, type RepeatUnit, type Timestamp } from '@banking/domain';
import { type Finding, ownLegsOf, RANGE_ROWS, type RangeOptions } from '@banking/ledger';
import { bind, type Database, sqlStatement } from '@banking/postgres';
import { ORDER_OF_RECORD } from '../orders/order-answers.js';
import { EXECUTION, runTime } from '../orders/schedule.js';
import { computed, type FindingRow, type RangeCheck, type VerifyOptions } from './verify-ranges.js';

/** Transactions that the caller has listed need no order. */
const withoutOrder = ({ bookedWithoutOrder = [] }: VerifyOptions) => [bookedWithoutOrder];

/** The rules of orders and their executions. */
export const ORDER_CHECKS: readonly RangeCheck[] = [
  {
    check: 'every execution has its order',
    over: {
      execution: sqlStatement<FindingRow>(
        'verify_executions',
        `select format('execution %s is of order %s, which is not there', e.id, e.order_id) as detail
       from execution e
       where e.workspace_id = $1 and e.id > $2 and e.id <= $3
         and not exists (select from customer_order o where o.workspace_id = $1 and o.id = e.order_id)`,
      ),
    },
  },
  {
    // Only the last execution can await approval, be scheduled or cancelled, and its status decides that of the order.
    check: 'every order stands where its executions stand',
    over: {
      customer_order: sqlStatement<FindingRow>(
        'verify_runs',
        `select format('order %s is %s and its executions are %s, from number %s on', o.id, o.status, coalesce(e.statuses, '{}'), e.first) as detail
       from customer_order o cross join lateral (
         select min(sequence) as first, count(*) as runs, array_agg(status order by sequence) as statuses,
                (array_agg(status order by sequence desc))[1] as last,
                count(*) filter (where status in ('awaiting_approval', 'scheduled', 'cancelled')) as open
         from execution where workspace_id = $1 and order_id = o.id) e
       where o.workspace_id = $1 and o.id > $2 and o.id <= $3
         and (e.first = 1 and (o.type = 'recurring' or e.runs = 1) and
              case o.status
                when 'active' then (e.last = 'scheduled' or e.last = 'awaiting_approval' and e.runs = 1) and e.open = 1
                when 'cancelled' then e.last = 'cancelled' and e.open = 1
                when 'failed' then e.last = 'failed' and e.open = 0
                else e.open = 0
              end) is not true`,
      ),
    },
  },
  {
    check: 'every execution stands where its transaction stands',
    over: {
      execution: sqlStatement<FindingRow>(
        'verify_execution_steps',
        `select format('execution %s is %s, its transaction %s %s', e.id, e.status, e.transaction_id, coalesce(x.status, 'is not there')) as detail
       from execution e left join transaction x on x.workspace_id = $1 and x.id = e.transaction_id
       where e.workspace_id = $1 and e.id > $2 and e.id <= $3
         and (e.transaction_id is not null or e.status in ('pending', 'completed'))
         and x.status is distinct from e.status`,
      ),
    },
  },
  {
    check: 'every execution has paid what its order says, besides the fee',
    over: {
      execution: sqlStatement<FindingRow>(
        'verify_paid',
        `select format('transaction %s has not paid what order %s says', e.transaction_id, o.id) as detail
       from execution e join customer_order o on o.workspace_id = $1 and o.id = e.order_id
       where e.workspace_id = $1 and e.id > $2 and e.id <= $3 and e.transaction_id is not null
         and (select array_agg(format('%s to %s', t.amount, t.recipient_id))
              from transfer t
              where t.workspace_id = $1 and t.transaction_id = e.transaction_id and t.account_id = o.account_id
                and t.direction = 'debit' and t.type <> 'fee')
             is distinct from array[format('%s to %s', o.amount, o.recipient_id)]`,
      ),
    },
  },
  {
    check: 'every execution that converted has its conversion, and no other has one',
    over: {
      execution: sqlStatement<FindingRow>(
        'verify_conversions',
        `select format('transaction %s of execution %s is a conversion and has none', e.transaction_id, e.id) as detail
         from execution e
         where e.workspace_id = $1 and e.id > $2 and e.id <= $3
           and exists (select from transfer t where t.workspace_id = $1 and t.transaction_id = e.transaction_id and t.type = 'spot')
           and not exists (select from conversion c where c.workspace_id = $1 and c.transaction_id = e.transaction_id)`,
      ),
      transaction: sqlStatement<FindingRow>(
        'verify_executed_conversions',
        `select format('transaction %s has a conversion and is none of an execution', c.transaction_id) as detail
         from conversion c
         where c.workspace_id = $1 and c.transaction_id > $2 and c.transaction_id <= $3
           and not (
             exists (select from execution e where e.workspace_id = $1 and e.transaction_id = c.transaction_id)
             and exists (select from transfer t where t.workspace_id = $1 and t.transaction_id = c.transaction_id and t.type = 'spot'))`,
      ),
    },
  },
  {
    // Computed by the database: the target amount and the remainder are exactly the source amount at the rate.
    check: 'every conversion is what passed through our positions, at its rate',
    over: {
      transaction: sqlStatement<FindingRow>(
        'verify_converted',
        `select format('the conversion of transaction %s does not add up', c.transaction_id) as detail
       from conversion c
         left join currency paid on paid.id = c.source_currency_id
         left join currency arriving on arriving.id = c.target_currency_id
       where c.workspace_id = $1 and c.transaction_id > $2 and c.transaction_id <= $3
         and ((c.target_amount * c.remainder_denominator + c.remainder_numerator) * power(10::numeric, paid.decimals)
              is distinct from c.source_amount * c.rate::numeric * power(10::numeric, arriving.decimals) * c.remainder_denominator
           or (c.remainder_numerator >= 0 and case c.fixed_side
                 when 'source' then c.remainder_numerator < c.remainder_denominator
                 else c.remainder_numerator * power(10::numeric, paid.decimals)
                      < c.rate::numeric * power(10::numeric, arriving.decimals) * c.remainder_denominator end) is not true
           or (select array_agg(format('%s %s %s', t.direction, t.amount, t.currency_id) order by t.direction)
               from ${ownLegsOf('fx', { workspaceId: '$1', id: 'c.transaction_id' })} t)
              is distinct from array[
                format('credit %s %s', c.source_amount, c.source_currency_id),
                format('debit %s %s', c.target_amount, c.target_currency_id)])`,
      ),
    },
  },
  {
    check: 'every payout is of an order',
    over: {
      payout: sqlStatement<FindingRow>(
        'verify_ordered_payouts',
        `select format('payout of transaction %s is of no order', p.transaction_id) as detail
       from payout p
       where p.workspace_id = $1 and p.transaction_id > $2 and p.transaction_id <= $3
         and not exists (select from execution e where e.workspace_id = $1 and e.transaction_id = p.transaction_id)
         and p.transaction_id <> all($4::bigint[])`,
      ),
    },
    parameters: withoutOrder,
  },
  {
    check: 'every quote that was used is of the order that used it, which paid by it',
    over: {
      quote_use: sqlStatement<FindingRow>(
        'verify_quote_uses',
        `select format('quote %s was used by order %s, which is not of it', u.quote_id, u.order_id) as detail
         from quote_use u
           left join customer_order o on o.workspace_id = $1 and o.id = u.order_id
           left join quote q on q.workspace_id = $1 and q.id = u.quote_id
         where u.workspace_id = $1 and u.quote_id > $2 and u.quote_id <= $3
           and (o.type = 'instant' and o.status = 'completed' and o.quote_id = u.quote_id and q.account_id = o.account_id
                and q.amount = o.amount and coalesce(q.recipient_id, o.recipient_id) = o.recipient_id) is not true
         union all
         select format('order %s was carried out at another rate than quote %s', e.order_id, u.quote_id)
         from quote_use u
           join quote q on q.workspace_id = $1 and q.id = u.quote_id
           join execution e on e.workspace_id = $1 and e.order_id = u.order_id
           left join conversion c on c.workspace_id = $1 and c.transaction_id = e.transaction_id
         where u.workspace_id = $1 and u.quote_id > $2 and u.quote_id <= $3 and q.currency_id <> q.target_currency_id
           and (c.quote_id, c.target_amount, c.rate::numeric) is distinct from (q.id, q.target_amount, q.rate::numeric)`,
      ),
      customer_order: sqlStatement<FindingRow>(
        'verify_quoted_orders',
        `select format('order %s names quote %s and has not used it', o.id, o.quote_id) as detail
         from customer_order o
         where o.workspace_id = $1 and o.id > $2 and o.id <= $3 and o.quote_id is not null
           and (o.approval_id is null or o.status = 'completed')
           and not exists (select from quote_use u where u.workspace_id = $1 and (u.quote_id, u.order_id) = (o.quote_id, o.id))`,
      ),
    },
  },
  {
    check: 'every scheduled execution is in the queue',
    over: {
      execution: sqlStatement<FindingRow>(
        'verify_unqueued_executions',
        `select format('execution %s is scheduled and not in the queue', e.id) as detail
       from execution e
       where e.workspace_id = $1 and e.id > $2 and e.id <= $3 and e.status = 'scheduled'
         and not exists (select from work k where k.workspace_id = $1 and k.kind = '${EXECUTION}' and k.subject_id = e.id)`,
      ),
    },
  },
  {
    check: 'no external reference is of two orders',
    over: {
      customer_order: sqlStatement<FindingRow>(
        'verify_references',
        `select format('orders %s and %s have one external reference', p.id, o.id) as detail
       from customer_order o join customer_order p
         on p.workspace_id = $1 and p.external_reference = o.external_reference and p.id < o.id
       where o.workspace_id = $1 and o.id > $2 and o.id <= $3 and o.external_reference is not null`,
      ),
    },
  },
  {
    check: 'no transaction is of two executions',
    over: {
      execution: sqlStatement<FindingRow>(
        'verify_executed_once',
        `select format('executions %s and %s have transaction %s', d.id, e.id, e.transaction_id) as detail
       from execution e join execution d on d.workspace_id = $1 and d.transaction_id = e.transaction_id and d.id < e.id
       where e.workspace_id = $1 and e.id > $2 and e.id <= $3 and e.transaction_id is not null`,
      ),
    },
  },
  {
    // A return and a correction name their transaction.
    check: 'every debit of a customer account is of an execution or of a return',
    over: {
      transaction: sqlStatement<FindingRow>(
        'verify_debits',
        `select distinct format('transaction %s took money from account %s and is of no execution', x.id, t.account_id) as detail
         from transaction x join transfer t on t.workspace_id = $1 and t.transaction_id = x.id
         where x.workspace_id = $1 and x.id > $2 and x.id <= $3 and x.return_of is null
           and t.direction = 'debit'
           and not exists (select from execution e where e.workspace_id = $1 and e.transaction_id = x.id)
           and x.id <> all($4::bigint[])`,
      ),
    },
    parameters: withoutOrder,
  },
  {
    // A schedule may change later, so the fee is compared with what was stored with the payment.
    check: 'every fee is what its payment states, and what its quote states',
    over: {
      execution: sqlStatement<FindingRow>(
        'verify_fees',
        `select format('transaction %s of order %s took a fee of %s, credited %s, and states %s', e.transaction_id, o.id, f.taken, f.credited, f.stated) as detail
         from execution e
           join customer_order o on o.workspace_id = $1 and o.id = e.order_id
           left join quote q on q.workspace_id = $1 and q.id = o.quote_id
           cross join lateral (
             select coalesce(sum(t.amount) filter (where t.type = 'fee' and t.direction = 'debit' and t.account_id = o.account_id), 0) as taken,
                    (select coalesce(sum(l.amount) filter (where l.direction = 'credit'), 0)
                     from ${ownLegsOf('fees', { workspaceId: '$1', id: 'e.transaction_id' })} l) as credited,
                    coalesce(sum(t.fee_amount), 0) as stated
             from transfer t
             where t.workspace_id = $1 and t.transaction_id = e.transaction_id) f
         where e.workspace_id = $1 and e.id > $2 and e.id <= $3 and e.transaction_id is not null
           and (f.taken <> f.stated or f.credited <> f.stated or f.stated <> coalesce(q.fee_amount, f.stated))`,
      ),
    },
  },
];

export const ORDER_KEY_CHECK = 'every stored response to an order is of one order of its account';

interface KeyRow {
  readonly operation: string;
  readonly key: string;
  readonly order_id: bigint | null;
  readonly detail: string | null;
}

/** The message omits the key, which belongs to the caller. */
const ORDER_KEYS = sqlStatement<KeyRow>(
  'verify_order_keys',
  `select i.operation, i.key, i.order_id, case
            when o.id is null then format('a stored response of account %s names order %s, which is not there', i.account, i.order_id)
            when o.account_id::text <> i.account then format('a stored response of account %s names order %s of account %s', i.account, o.id, o.account_id) end as detail
   from (select operation, key, ${ORDER_OF_RECORD} as order_id,
                split_part(operation, '/', 2) as account
         from idempotency cross join lateral (select answer::jsonb as record) r
         where workspace_id = $1 and (operation, key) > ($2::text, $3::text) and operation like 'placeOrder/%'
         order by operation, key limit $4) i
   left join customer_order o on o.workspace_id = $1 and o.id = i.order_id
   order by i.operation, i.key`,
);

/**
 * Compares the stored responses to orders with the orders. Reads by account, so that the order ids of one account in memory are enough
 * to detect an order with two responses. Its ranges are over a text key, which `verifyInRanges` does not have.
 */
export async function verifyOrderKeys(
  database: Database,
  workspaceId: number,
  { rangeRows = RANGE_ROWS, onRange }: RangeOptions,
): Promise<Finding[]> {
  const findings: Finding[] = [];
  const note = (detail: string) => findings.push({ check: ORDER_KEY_CHECK, workspaceId, detail });
  let last: Pick<KeyRow, 'operation' | 'key'> = { operation: '', key: '' };
  let named = new Set<bigint>();
  let rows: readonly KeyRow[];
  let done = 0;
  do {
    const ask = [bind(ORDER_KEYS, workspaceId, last.operation, last.key, rangeRows)] as const;
    [rows] = await database.pipeline({ workspaces: [workspaceId] }, ask);
    for (const row of rows) {
      if (row.operation !== last.operation) named = new Set();
      last = row;
      if (row.detail !== null) note(row.detail);
      else if (row.order_id !== null && named.has(row.order_id)) note(`order ${row.order_id} has two stored responses`);
      if (row.order_id !== null) named.add(row.order_id);
    }
    done += rows.length;
    await onRange?.({ workspaceId, reading: 'stored responses', done });
  } while (rows.length === rangeRows);
  return findings;
}

interface RunTime {
  readonly id: bigint;
  readonly sequence: number;
  readonly scheduled_at: Timestamp;
  readonly anchor: string;
  readonly start_at: Timestamp;
  readonly stop_at: Timestamp | null;
  readonly repeat_unit: RepeatUnit | null;
  readonly repeat_value: number | null;
}

const RUN_TIMES = sqlStatement<RunTime>(
  'verify_run_times',
  `select e.id, e.sequence, rfc3339(e.scheduled_at) as scheduled_at, o.anchor, rfc3339(o.start_at) as start_at,
          rfc3339(o.stop_at) as stop_at, o.repeat_unit, o.repeat_value
   from execution e join customer_order o on o.workspace_id = $1 and o.id = e.order_id
   where e.workspace_id = $1 and e.id > $2 and e.id <= $3 and o.anchor is not null`,
);

/** The time of each run, computed from the anchor of its order. The database cannot compute it. */
export const RUN_TIMES_CHECK: RangeCheck = {
  check: 'every execution of a schedule is at the time that its number has in it',
  over: {
    execution: computed(RUN_TIMES, (run) =>
      isOnTime(run)
        ? undefined
        : `execution ${run.id} is number ${run.sequence} of its order and is not at that time of its schedule`,
    ),
  },
};

function isOnTime({ sequence, scheduled_at, anchor, start_at, stop_at, repeat_unit, repeat_value }: RunTime): boolean {
  const schedule = {
    startAt: anchor,
    stopAt: stop_at ?? undefined,
    repeatUnit: repeat_unit ?? undefined,
    repeatValue: repeat_value ?? undefined,
  };
  const at = runTime(schedule, sequence);
  return at !== undefined && isSameTime(at, scheduled_at) && isSameTime(anchor, start_at);
}

/** The database stores microseconds and rounds further digits. */
function isSameTime(exact: string, stored: Timestamp): boolean {
  const difference = microseconds(exact) - microseconds(stored);
  return -1n <= difference && difference <= 1n;
}

function microseconds(text: string): bigint {
  const { seconds, fraction } = parseInstant(text);
  return BigInt(seconds) * 1_000_000n + BigInt(fraction.slice(0, 6).padEnd(6, '0'));
}
