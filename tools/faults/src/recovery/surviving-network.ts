import type { PostgresServer } from './postgres-server.js';

/**
 * The payments of the sandbox network. It stores them in the database of the books, and a real network does not: a recovery of the books
 * does not undo payments. A run therefore copies them from the lost server.
 */
export interface NetworkCopy {
  readonly payments: string;
  readonly events: string;
}

export async function readNetwork(lost: PostgresServer): Promise<NetworkCopy> {
  const [row] = await lost.query<NetworkCopy>(
    `select (select coalesce(json_agg(p), '[]') from sandbox_rail_payment p)::text as payments,
            (select coalesce(json_agg(e), '[]') from sandbox_rail_event e)::text as events`,
  );
  if (row === undefined) throw new Error('the network has no rows');
  return row;
}

export async function writeNetwork(recovered: PostgresServer, { payments, events }: NetworkCopy): Promise<void> {
  await recovered.query('truncate sandbox_rail_event, sandbox_rail_payment');
  await recovered.query(
    'insert into sandbox_rail_payment select * from json_populate_recordset(null::sandbox_rail_payment, $1)',
    [payments],
  );
  await recovered.query(
    'insert into sandbox_rail_event select * from json_populate_recordset(null::sandbox_rail_event, $1)',
    [events],
  );
  // A recovery takes longer than a payment of the network, so no event is still to come when the books are compared with it.
  await recovered.query('update sandbox_rail_event set due_at = least(due_at, statement_timestamp())');
}

const KEY = `concat_ws('-', 'payout', p.workspace_id, p.transaction_id, p.key_nonce)`;

/** The keys of payments that no payout of the books has. */
export async function lostPayments(recovered: PostgresServer): Promise<string[]> {
  const rows = await recovered.query<{ key: string }>(
    `select r.key from sandbox_rail_payment r where not exists (select from payout p where ${KEY} = r.key)`,
  );
  return rows.map(({ key }) => key).sort();
}

/** Payouts that the workers have not finished. */
export async function countOpenPayouts(recovered: PostgresServer): Promise<number> {
  const [row] = await recovered.query<{ count: number }>(
    `select count(*)::int as count from work where kind = 'payout' and parked_at is null`,
  );
  return row?.count ?? 0;
}

/** What is wrong with the payments of the payouts in the books. */
export async function checkPayments(recovered: PostgresServer): Promise<string[]> {
  const rows = await recovered.query<{ fault: string }>(
    `select format('payout %s of workspace %s is %s, with %s submissions and the amount %s instead of %s', p.transaction_id,
                   p.workspace_id, p.status, coalesce(r.submissions, 0), r.amount, s.amount) as fault
     from payout p
     join transfer s on (s.workspace_id, s.transaction_id) = (p.workspace_id, p.transaction_id) and s.direction = 'credit'
     join account o on (o.workspace_id, o.id) = (s.workspace_id, s.account_id) and o.kind = 'settlement'
     left join sandbox_rail_payment r on r.key = ${KEY}
     where p.fence > 0 and (p.status not in ('settled', 'failed') or r.submissions is distinct from 1 or r.amount <> s.amount)`,
  );
  return rows.map(({ fault }) => fault);
}
