import { openWork } from '../work/open-work.js';
import type { WorkHandler } from '../work/handle-claim.js';
import { listWork, type QueuedWork } from '../work/list-work.js';
import { Worker, type WorkerOptions } from '../work/worker.js';
import { NORTH, openWorld, type World } from './world.js';

/** The kind of work that a spec has handlers for. */
export const KIND = 'test';

/** A world for specs of the queue, whatever its work is. */
export interface Queue {
  readonly world: World;
  /** Puts pieces of work into the queue. Answers their subjects. */
  lay(count?: number, workspaceId?: number, dueAt?: string): Promise<number[]>;
  /** A worker that moves when it is told to. */
  workerOf(run: WorkHandler['run'], more?: Partial<WorkerOptions>): Worker;
  list(): Promise<QueuedWork[]>;
}

export async function openQueue(): Promise<Queue> {
  const world = await openWorld();
  const { database } = world;
  let subject = 0;
  return {
    world,
    async lay(count = 1, workspaceId = NORTH, dueAt) {
      const subjects = Array.from({ length: count }, () => ++subject);
      await database.flight({}, [
        openWork(subjects.map((subjectId) => ({ workspaceId, kind: KIND, subjectId, dueAt }))),
      ]);
      return subjects;
    },
    workerOf: (run, more = {}) => new Worker({ database, handlers: { [KIND]: { run } }, ...more }),
    list: () => listWork(database),
  };
}

/** A promise, and the way to keep it. */
export function promised<T = void>() {
  let keep!: (value: T) => void;
  const kept = new Promise<T>((resolve) => (keep = resolve));
  return { kept, keep };
}
