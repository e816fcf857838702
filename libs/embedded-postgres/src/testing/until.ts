import { setTimeout as pause } from 'node:timers/promises';
import { inspect } from 'node:util';

/** Far above every expected wait, so that time does not decide a test, and below the limit of a test in `npm test`. */
const LIMIT_MS = 90_000;
const PAUSE_MAX_MS = 100;

/**
 * Reads until the value is as expected, by default truthy, and returns it. Pauses grow, so that polls do not use the processor that
 * the awaited work needs.
 * @throws Error with the condition and the last value if it is not as expected in time
 */
export async function until<T>(read: () => T | Promise<T>, isExpected: (value: T) => boolean = Boolean): Promise<T> {
  const endsAtMs = performance.now() + LIMIT_MS;
  for (let pauseMs = 1; ; pauseMs = Math.min(2 * pauseMs, PAUSE_MAX_MS)) {
    const value = await read();
    if (isExpected(value)) return value;
    if (performance.now() > endsAtMs) {
      const condition = isExpected === Boolean ? read : isExpected;
      throw new Error(`not within ${LIMIT_MS} ms: ${condition}. The last value was ${inspect(value)}.`);
    }
    await pause(pauseMs);
  }
}
