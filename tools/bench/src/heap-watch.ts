import { setImmediate as turn } from 'node:timers/promises';

/**
 * Loaded before an app's own code by `node --expose-gc --require`: tells its parent, whenever it sends a message, what is
 * still held. It does not keep the app from ending.
 */
const MB = 1024 * 1024;

async function held() {
  // What is held weakly is let go of only in a later turn.
  for (let times = 0; times < 3; times += 1) {
    globalThis.gc?.();
    await turn();
  }
  const { heapUsed, rss } = process.memoryUsage();
  return { heapMb: heapUsed / MB, residentMb: rss / MB };
}

process.on('message', (message) => {
  if (message === 'held') void held().then((marks) => process.send?.(marks));
});
process.channel?.unref();
