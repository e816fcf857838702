import type { Client } from 'pg';

const HASH = `repeat('0', 64)`;

/**
 * Fills the tables that grow with the orders, with one workspace and the schema of the baseline: so many transfers, half as many
 * transactions, and the orders, runs, payouts, events and records of a quarter. The rows are written past all triggers, so the books
 * do not add up: only their number counts.
 */
export async function fillTables(client: Client, transfers: number): Promise<void> {
  const transactions = Math.ceil(transfers / 2);
  const orders = Math.ceil(transfers / 4);
  await client.query('set search_path = banking, pg_temp; set session_replication_role = replica');
  for (const insert of [
    `insert into transaction (workspace_id, id, status, hash, value_date)
     select 1, n, 'completed', ${HASH}, date '2026-11-21' from generate_series(1, ${transactions}) n`,
    `insert into transfer (workspace_id, transaction_id, account_id, currency_id, direction, amount, type, account_version, balance_after)
     select 1, n, n % 1000 + case side when 'debit' then 1 else 1001 end, 840, side, 100, 'internal', n, 0
     from generate_series(1, ${transactions}) n, unnest(array['debit', 'credit']) side`,
    `insert into recipient (workspace_id, id, kind, name, account_code, currency_id)
     select 1, n, 'internal', 'Recipient', 'CODE', 840 from generate_series(1, ${orders}) n`,
    `insert into customer_order (workspace_id, id, account_id, recipient_id, amount, type, status)
     select 1, n, n % 1000 + 1, n, 100, 'instant', 'completed' from generate_series(1, ${orders}) n`,
    `insert into execution (workspace_id, order_id, sequence, status, transaction_id, scheduled_at, executed_at)
     select 1, n, 1, 'completed', n, now(), now() from generate_series(1, ${orders}) n`,
    `insert into payout (workspace_id, transaction_id, status) select 1, n, 'settled' from generate_series(1, ${orders}) n`,
    `insert into remittance (workspace_id, id, transaction_id) select 1, n, n from generate_series(1, ${orders}) n`,
    `insert into remittance_event (workspace_id, remittance_id, provider_event, status)
     select 1, n, 'event ' || n, 'ACCC' from generate_series(1, ${orders}) n`,
    `insert into idempotency (workspace_id, operation, key, fingerprint, answer)
     select 1, 'orders', 'key ' || n, sha256('body'), '{}' from generate_series(1, ${orders}) n`,
  ]) {
    await client.query(insert);
  }
  await client.query('reset session_replication_role; analyze');
}
