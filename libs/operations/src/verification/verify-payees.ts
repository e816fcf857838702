import { type Finding, ownLegsOf, rangeKey, type RangeOptions, rangesOf } from '@banking/ledger';
import { bind, type Database, isServedElsewhere, lookup, scopesOf, sqlStatement } from '@banking/postgres';
import type { FindingRow, RangeCheck } from './verify-ranges.js';

export const PAYEE_CHECK = 'every payment to another account here arrived at the account that its recipient names';

/** A payment that has not arrived at its account within the payer's workspace. */
interface DepartedRow {
  readonly transaction_id: bigint;
  /** Of the account with the code of the recipient. Null if this database has none. */
  readonly workspace_id: bigint | null;
  readonly account_id: bigint | null;
  readonly has_cells: boolean;
  /** The leg that was credited. Its account is an `interworkspace` account, or a wrong one. */
  readonly kind: string | null;
  readonly type: string | null;
  readonly currency_id: number | null;
  readonly amount: bigint | null;
  readonly created_at: string;
}

/**
 * A payment to another cell is a crossing, which names the code. A payment within a workspace that is being moved is compared by the
 * code of the credited account alone: its codes are not in the new database yet. An erased recipient names no account any more.
 */
export const DEPARTED = sqlStatement<DepartedRow>(
  'verify_departed',
  `select e.transaction_id, k.workspace_id, k.account_id, exists (select from cell_identity) as has_cells,
          c.kind, c.type, c.currency_id, c.amount, rfc3339(x.created_at) as created_at
   from execution e
     join customer_order o on o.workspace_id = $1 and o.id = e.order_id
     join recipient r on r.workspace_id = $1 and r.id = o.recipient_id and r.kind = 'internal' and r.erased_at is null
     join transaction x on x.workspace_id = $1 and x.id = e.transaction_id
     left join account_code k on k.code = r.account_code
       and not exists (select from cell_workspace w where w.workspace_id = k.workspace_id and w.state = 'gone')
     left join crossing g on g.workspace_id = $1 and g.transaction_id = x.id
     left join ${lookup(`select a.id, a.kind, a.code, t.type, t.currency_id, t.amount
       from ${lookup(`select * from leg l where l.workspace_id = $1 and l.transaction_id = x.id and l.direction = 'credit'`)} t
       cross join ${lookup('select * from account o where o.workspace_id = $1 and o.id = t.account_id')} a
       where a.kind not in ('fx', 'fees')`)} c on true
   where e.workspace_id = $1 and e.id > $2 and e.id <= $3
     and case when g.transaction_id is null then (c.kind = 'customer' and c.code = r.account_code and case
           when exists (select from cell_workspace w where w.workspace_id = $1 and w.state <> 'open') then k.account_id is null
           else (k.workspace_id, k.account_id) = ($1, c.id) end) is not true
         else (c.kind = 'interworkspace' and g.account_code = r.account_code) is not true end`,
);

/**
 * One statement books both halves of a payment, so they have one time. Reads the credits of an account at a time by the index of its
 * lists.
 */
export const NOT_ARRIVED = sqlStatement<{ nth: number }>(
  'verify_arrived',
  `select u.nth::int as nth
   from unnest($1::bigint[], $2::bigint[], $3::text[], $4::int[], $5::bigint[], $6::timestamptz[], $7::int[]) with ordinality
          u(workspace_id, account_id, type, currency_id, amount, created_at, payments, nth)
   where u.payments > (
     select count(*) from transfer t
     where t.workspace_id = u.workspace_id and t.account_id = u.account_id and t.type = u.type and t.direction = 'credit'
       and t.created_at = u.created_at and t.balance_after is not null and t.currency_id = u.currency_id and t.amount = u.amount
       and exists (
         select from ${ownLegsOf('interworkspace', { workspaceId: 'u.workspace_id', id: 't.transaction_id' })} l where l.direction = 'debit'))
   order by u.nth`,
);

const EXECUTIONS = ['payments to accounts here', rangeKey('execution')] as const;

/**
 * Compares the account that each payment of a workspace credited with the account of its recipient, in the same database.
 *
 * The halves of a payment between workspaces have no id in common. So the payee's account must have as many credits of the amount at the
 * time as the payer's workspace has payments. A payee that another cell serves by now is verified there with its own books only.
 */
export async function verifyPayees(database: Database, workspaceId: number, options: RangeOptions): Promise<Finding[]> {
  const findings: Finding[] = [];
  const note = (id: bigint) =>
    findings.push({
      check: PAYEE_CHECK,
      workspaceId,
      detail: `transaction ${id} has not credited the account of its recipient`,
    });
  for await (const { after, upto } of rangesOf(database, workspaceId, EXECUTIONS, options)) {
    const query = [bind(DEPARTED, workspaceId, after, upto)] as const;
    const [rows] = await database.pipeline({ workspaces: [workspaceId] }, query);
    const payments = new Map<number, Map<string, DepartedRow[]>>();
    for (const row of rows) {
      const payee = row.workspace_id === null ? undefined : Number(row.workspace_id);
      if (row.kind !== 'interworkspace' || payee === workspaceId) note(row.transaction_id);
      else if (payee === undefined) {
        if (!row.has_cells) note(row.transaction_id);
      } else {
        const of = payments.get(payee) ?? new Map<string, DepartedRow[]>();
        const key = [row.account_id, row.type, row.currency_id, row.amount, row.created_at].join(' ');
        payments.set(payee, of.set(key, [...(of.get(key) ?? []), row]));
      }
    }
    for (const payees of scopesOf([...payments.keys()])) {
      const missing = await notArrived(database, payees, payments);
      for (const { transaction_id: id } of missing.flat()) note(id);
    }
  }
  return findings;
}

/** The groups of equal payments of which fewer arrived in the payees' workspaces. */
async function notArrived(
  database: Database,
  payees: readonly number[],
  payments: ReadonlyMap<number, ReadonlyMap<string, readonly DepartedRow[]>>,
): Promise<readonly (readonly DepartedRow[])[]> {
  const groups = payees.flatMap((payee) => [...payments.get(payee)!.values()]);
  const firsts = groups.map(([first]) => first!);
  const columns = (['workspace_id', 'account_id', 'type', 'currency_id', 'amount', 'created_at'] as const).map((name) =>
    firsts.map((row) => row[name]),
  );
  const query = [
    bind(
      NOT_ARRIVED,
      ...columns,
      groups.map((group) => group.length),
    ),
  ] as const;
  try {
    const [rows] = await database.pipeline({ workspaces: payees }, query);
    return rows.map(({ nth }) => groups[nth - 1]!);
  } catch (error) {
    if (!isServedElsewhere(error)) throw error;
    if (payees.length === 1) return [];
    const found: (readonly DepartedRow[])[] = [];
    for (const payee of payees) found.push(...(await notArrived(database, [payee], payments)));
    return found;
  }
}

/** The rules of payments between cells, as far as one database has them. */
export const CROSSING_CHECKS: readonly RangeCheck[] = [
  {
    check: 'every crossing has its transaction, with its amount and status',
    over: {
      crossing: sqlStatement<FindingRow>(
        'verify_crossings',
        `select format('crossing of transaction %s is %s over %s, the transaction %s over %s', c.transaction_id, c.status, c.amount,
                  coalesce(x.status, 'is not there'), coalesce(s.amount, 0)) as detail
       from crossing c left join transaction x on x.workspace_id = $1 and x.id = c.transaction_id
         cross join lateral (
           select sum(l.amount) as amount from ${ownLegsOf('interworkspace', { workspaceId: '$1', id: 'c.transaction_id' })} l
           where l.direction = 'credit' and l.currency_id = c.currency_id) s
       where c.workspace_id = $1 and c.transaction_id > $2 and c.transaction_id <= $3
         and (s.amount is distinct from c.amount
           or x.status is distinct from case c.status when 'due' then 'pending' when 'completed' then 'completed' else 'failed' end)`,
      ),
    },
  },
  {
    check: 'every accepted arrival has its transaction, with its amount on its account',
    over: {
      arrival: sqlStatement<FindingRow>(
        'verify_arrivals',
        `select format('arrival of transaction %s of workspace %s has no transaction %s over %s on its account', r.origin_transaction_id,
                  r.origin_workspace_id, r.transaction_id, r.amount) as detail
       from arrival r
       where r.workspace_id = $1 and r.transaction_id > $2 and r.transaction_id <= $3
         and not exists (
           select from transaction x join transfer t on t.workspace_id = $1 and t.transaction_id = x.id
             join account k on k.workspace_id = $1 and k.id = t.account_id
           where x.workspace_id = $1 and x.id = r.transaction_id and x.status = 'completed' and k.code = r.account_code
             and t.direction = 'credit' and t.amount = r.amount and t.currency_id = r.currency_id)`,
      ),
    },
  },
  {
    check: 'every payment to another cell that is not completed has its crossing',
    over: {
      transaction: sqlStatement<FindingRow>(
        'verify_unfinished_payments',
        `select format('transaction %s is %s and has no crossing', x.id, x.status) as detail
       from transaction x
       where x.workspace_id = $1 and x.id > $2 and x.id <= $3 and x.status <> 'completed'
         and exists (
           select from ${ownLegsOf('interworkspace', { workspaceId: '$1', id: 'x.id' })} l where l.direction = 'credit')
         and not exists (select from crossing c where c.workspace_id = $1 and c.transaction_id = x.id)`,
      ),
    },
  },
  {
    check: 'every crossing that is due is in the queue',
    over: {
      crossing: sqlStatement<FindingRow>(
        'verify_unqueued_crossings',
        `select format('crossing of transaction %s is due and not in the queue', c.transaction_id) as detail
       from crossing c
       where c.workspace_id = $1 and c.transaction_id > $2 and c.transaction_id <= $3 and c.status = 'due'
         and not exists (
           select from work k where k.workspace_id = $1 and k.kind = 'crossing' and k.subject_id = c.transaction_id)`,
      ),
    },
  },
];
