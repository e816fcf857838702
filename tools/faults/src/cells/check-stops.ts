import { setTimeout as sleep } from 'node:timers/promises';
import type { Violation } from '../check-orders.js';
import type { DatabaseServer } from '../database-server.js';

const POLL_MS = 500;
const STOPS = `select f->>'check' as rule, f->>'detail' as detail from payout_stop, jsonb_array_elements(findings) f`;

/** Waits until the verification of a worker has stopped payouts, or until the signal. @returns its findings */
export async function untilStopped(databases: readonly DatabaseServer[], signal: AbortSignal): Promise<Violation[]> {
  while (!signal.aborted) {
    for (const database of databases) {
      // A server that was killed is asked again.
      const found = await database.query<{ rule: string; detail: string }>(STOPS).catch(() => []);
      if (found.length > 0) return found.map(({ rule, detail }) => ({ check: 'books', detail: `${rule}: ${detail}` }));
    }
    await sleep(POLL_MS, undefined, { signal }).catch(() => undefined);
  }
  return [];
}
