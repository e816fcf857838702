import type { BoundStatement } from '@banking/postgres';
import { sql } from '@banking/postgres/testing';
import { EUR, NORTH, type World } from './world.js';

/** A transfer with any values, which no program of ours would write. */
export interface RawLeg {
  readonly account: number;
  readonly direction: 'debit' | 'credit';
  /** In cents. */
  readonly amount: number | bigint;
  readonly version?: number;
  readonly after?: number | bigint;
  readonly type?: string;
  readonly currencyId?: number;
}

const TRANSACTION = `insert into transaction (workspace_id, status, hash)
  values ($1, 'completed', repeat('a', 64)) returning id`;

const LEGS = `insert into transfer (workspace_id, transaction_id, account_id, currency_id, direction, amount, type, account_version, balance_after)
  select $1, currval('transaction_id_seq'), l.*
  from unnest($2::bigint[], $3::int[], $4::text[], $5::bigint[], $6::text[], $7::bigint[], $8::bigint[]) l`;

/** The writes of one transaction with these transfers, without a decision. */
export function raw(legs: readonly RawLeg[], workspaceId = NORTH): readonly BoundStatement<Record<string, unknown>>[] {
  return [
    sql(TRANSACTION, workspaceId),
    sql(
      LEGS,
      workspaceId,
      legs.map(({ account }) => account),
      legs.map(({ currencyId = EUR }) => currencyId),
      legs.map(({ direction }) => direction),
      legs.map(({ amount }) => amount),
      legs.map(({ type = 'internal' }) => type),
      legs.map(({ version }) => version),
      legs.map(({ after }) => after),
    ),
  ];
}

/** Writes them as the app's role. */
export async function writeRaw({ database }: World, ...legs: readonly RawLeg[]): Promise<void> {
  await database.pipeline({ workspaces: [NORTH] }, raw(legs));
}

/** The workspace's settlement account. */
export async function settlement({ owner }: World, workspaceId = NORTH): Promise<number> {
  const { rows } = await owner.query<{ id: bigint }>(
    `select id from account where workspace_id = $1 and kind = 'settlement' and currency_id = $2`,
    [workspaceId, EUR],
  );
  return Number(rows[0]!.id);
}
