import { freshDatabase, type FreshDatabase } from '@banking/postgres/testing';

/** Two workspaces without accounts: work refers to the workspace only. */
export const NORTH = 1;
export const SOUTH = 2;

export type World = FreshDatabase;

export async function openWorld(): Promise<World> {
  const world = await freshDatabase();
  await world.owner.query(`
    insert into app (id, name) values (1, 'Harbour');
    insert into workspace (id, app_id, name) values (${NORTH}, 1, 'North'), (${SOUTH}, 1, 'South')`);
  return world;
}

/** Moves due times and leases into the past by `ms`. */
export async function passTime(world: World, ms: number): Promise<void> {
  await world.owner.query(
    `update work set due_at = due_at - interval '${ms} ms', leased_until = leased_until - interval '${ms} ms'`,
  );
}
