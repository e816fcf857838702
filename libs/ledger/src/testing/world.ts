import { parseAmount, type MinorUnits } from '@banking/domain';
import type { DatabaseOptions } from '@banking/postgres';
import { freshDatabase, type FreshDatabase } from '@banking/postgres/testing';
import { openBooks, type Books } from '../books.js';
import { openAccount } from '../open-account.js';
import { post } from '../post.js';
import type { Proposal } from '../proposal.js';
import { funding } from './proposals.js';

/** Two workspaces. */
export const NORTH = 1;
export const SOUTH = 2;

export const EUR = 978;
export const USD = 840;

/** What the books refer to. The reason of a return is a row of payouts, whose specs test it. */
const SURROUNDINGS = `
  insert into currency (id, code, name, decimals) values (${EUR}, 'EUR', 'Euro', 2), (${USD}, 'USD', 'US dollar', 2);
  insert into product (id, name, currency_id) values (1, 'Current', ${EUR});
  insert into app (id, name) values (1, 'Bank');
  insert into workspace (id, app_id, name) values (${NORTH}, 1, 'North'), (${SOUTH}, 1, 'South'), (3, 1, 'West');
  insert into recipient (workspace_id, id, kind, name, account_code, currency_id)
    values (${NORTH}, 12, 'internal', 'Grace', 'G', ${EUR}), (${SOUTH}, 12, 'internal', 'Grace', 'G', ${EUR});
  alter table transaction disable trigger return_has_reason`;

/** The books of one spec, and a connection of a superuser. */
export interface World extends FreshDatabase {
  readonly books: Books;
}

export async function openWorld(options: Partial<DatabaseOptions> = {}): Promise<World> {
  const fresh = await freshDatabase(options);
  const world = { ...fresh, books: openBooks(fresh.database) };
  await plant(world, SURROUNDINGS);
  return world;
}

/** Minor units of an amount in euros. */
export const euros = (text: string): MinorUnits => parseAmount(text, 'EUR');

/** Opens a customer account with a balance. */
export async function account(
  world: World,
  holding = '0.00',
  { workspaceId = NORTH, currencyId = EUR }: { workspaceId?: number; currencyId?: number } = {},
): Promise<number> {
  const { rows } = await world.owner.query<{ id: bigint }>(`select nextval('account_id_seq') as id`);
  const id = Number(rows[0]!.id);
  const opened = openAccount({ workspaceId, id, productId: 1, currencyId, name: 'Ada', type: 'CACC', code: `A${id}` });
  await world.database.pipeline({ workspaces: [workspaceId] }, [opened]);
  if (euros(holding) > 0n) await posted(world, funding(id, euros(holding), { workspaceId, currencyId }));
  return id;
}

/** Posts proposals. @throws Error if one is refused */
export async function posted(world: World, ...proposals: readonly Proposal[]): Promise<void> {
  for (const outcome of await post(world.books, proposals)) if (!outcome.posted) throw outcome.refused;
}

/** Balance and version of a customer account, read without row-level security. */
export async function holding(world: World, accountId: number): Promise<{ balance: bigint; version: bigint }> {
  const { rows } = await world.owner.query<{ balance: bigint; version: bigint }>(
    'select balance, version from account where id = $1',
    [accountId],
  );
  return rows[0]!;
}

/** Runs SQL that the constraints forbid, as a superuser whose triggers and foreign keys are off. */
export async function plant(world: World, text: string, values: readonly unknown[] = []): Promise<void> {
  await world.owner.query('begin');
  await world.owner.query('set local session_replication_role = replica');
  await world.owner.query(text, [...values]);
  await world.owner.query('commit');
}
