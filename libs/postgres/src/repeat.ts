import { setTimeout as pause } from 'node:timers/promises';
import { isRepeatable } from './failures.js';

/** Tries in total: a conflict that outlasts them is reported as `unavailable`. */
const TRIES_MAX = 5;
const PAUSE_FIRST_MS = 10;

/**
 * Repeats work that the server rolled back because of a deadlock or a serialization failure (40P01, 40001), with full jitter.
 *
 * @param work must have had no effect outside of the database
 * @throws what the last try threw
 */
export async function repeat<T>(work: () => Promise<T>, random: () => number = Math.random): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (tries >= TRIES_MAX || !isRepeatable(error)) throw error;
      await pause(random() * PAUSE_FIRST_MS * 2 ** tries);
    }
  }
}
