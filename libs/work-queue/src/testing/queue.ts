import { openWork } from '../open-work.js';
import type { WorkHandler } from '../work-handler.js';
import { listWork, type QueuedWork } from '../list-work.js';
import { Worker, type WorkerOptions } from '../worker.js';
import { NORTH, openWorld, type World } from './world.js';

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
      await database.pipeline({}, [
        openWork(subjects.map((subjectId) => ({ workspaceId, kind: KIND, subjectId, dueAt }))),
      ]);
      return subjects;
    },
    workerOf: (run, more = {}) => new Worker({ database, handlers: { [KIND]: { run } }, ...more }),
    list: () => listWork(database),
  };
}

/** A promise and the function that resolves it. */
export function deferred<T = void>() {
  let resolve!: (value: T) => void;
  const promise = new Promise<T>((settle) => (resolve = settle));
  return { promise, resolve };
}
