import { freshDatabase, type FreshDatabase } from '@banking/postgres/testing';
import type { WorkHandler } from '../work-handler.js';
import { listWork, type QueuedWork } from '../work-status.js';
import { Worker, type WorkerOptions } from '../worker.js';

/** The kind of work with a handler in these specs. */
export const KIND = 'test';

/** A database with a queue, for specs. */
export interface Queue {
  readonly world: World;
  /** Puts pieces of work into the queue. Returns their subjects. */
  enqueue(count?: number, workspaceId?: number, dueAt?: string): Promise<number[]>;
  /** A worker that runs when the spec calls `step`. */
  workerOf(run: WorkHandler['run'], more?: Partial<WorkerOptions>): Worker;
  list(): Promise<QueuedWork[]>;
}

export async function openQueue(): Promise<Queue> {
  const world = await openWorld();
  const { database } = world;
  let subject = 0;
  return {
    world,
    async enqueue(count = 1, workspaceId = NORTH, dueAt) {
      const subjects = Array.from({ length: count }, () => ++subject);
      await openWork(world, KIND, subjects, workspaceId, dueAt);
      return subjects;
    },
    workerOf: (run, more = {}) => new Worker({ database, handlers: { [KIND]: { run } }, ...more }),
    list: () => listWork(database),
  };
}

/** Puts work into the queue, as functions of the owner do. @param dueAt RFC 3339 */
export const openWork = (
  { owner }: Pick<World, 'owner'>,
  kind: string,
  subjects: readonly number[],
  workspaceId = NORTH,
  dueAt?: string,
) =>
  owner.query(
    `insert into work (workspace_id, kind, subject_id, due_at) select $1, $2, s, coalesce($4, statement_timestamp()) from unnest($3::bigint[]) s`,
    [workspaceId, kind, subjects, dueAt],
  );

/** A promise and the function that resolves it. */
export function deferred<T = void>() {
  let resolve!: (value: T) => void;
  const promise = new Promise<T>((settle) => (resolve = settle));
  return { promise, resolve };
}

/** Two workspaces without accounts: work refers to the workspace only. */
export const NORTH = 1;

export const SOUTH = 2;

export type World = FreshDatabase;

async function openWorld(): Promise<World> {
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
