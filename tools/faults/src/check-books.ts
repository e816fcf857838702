import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import type { Violation } from './check-orders.js';
import type { DatabaseServer } from './database-server.js';

/** Balances of customers as they are stored, and our own accounts as the sum of their transfers, in one snapshot. */
const SUMS = `
  select currency_id as currency, sum(amount)::text as sum
  from (
    select currency_id, sum(balance) as amount from banking.account where kind = 'customer' group by currency_id
    union all
    select t.currency_id, sum(case t.direction when 'credit' then t.amount else -t.amount end)
    from banking.transfer t join banking.account a on (a.workspace_id, a.id) = (t.workspace_id, t.account_id)
    where a.kind <> 'customer'
    group by t.currency_id
  ) x
  group by currency_id having sum(amount) <> 0`;

const BELOW_ZERO = `select id::text, balance::text from banking.account where kind = 'customer' and balance < 0`;

const INTERVAL_MS = 50;

export interface MoneyWatch {
  /** Snapshots that were read. */
  readonly snapshots: number;
  readonly violations: readonly Violation[];
}

/** Reads all balances every 50 ms until the signal. While the database is down, it tries to connect again. */
export async function watchMoney(
  database: DatabaseServer,
  signal: AbortSignal,
  onSnapshot: () => void,
): Promise<MoneyWatch> {
  const violations: Violation[] = [];
  let snapshots = 0;
  let client: Client | undefined;
  while (!signal.aborted) {
    try {
      client ??= await database.connect();
      violations.push(...(await readSnapshot(client)));
      snapshots += 1;
      onSnapshot();
    } catch {
      await client?.end().catch(() => undefined);
      client = undefined;
    }
    await sleep(INTERVAL_MS, undefined, { signal }).catch(() => undefined);
  }
  await client?.end().catch(() => undefined);
  return { snapshots, violations };
}

/** Reads all balances once. */
export async function checkMoney(database: DatabaseServer): Promise<Violation[]> {
  const client = await database.connect();
  try {
    return await readSnapshot(client);
  } finally {
    await client.end();
  }
}

async function readSnapshot(client: Client): Promise<Violation[]> {
  const sums = await client.query<{ currency: number; sum: string }>(SUMS);
  const low = await client.query<{ id: string; balance: string }>(BELOW_ZERO);
  return [
    ...sums.rows.map(({ currency, sum }): Violation => ({
      check: 'money',
      detail: `the balances in currency ${currency} add up to ${sum} and not to 0`,
    })),
    ...low.rows.map(({ id, balance }): Violation => ({
      check: 'below-zero',
      detail: `account ${id} holds ${balance}, below zero`,
    })),
  ];
}
