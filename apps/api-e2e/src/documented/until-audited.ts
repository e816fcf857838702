import { setTimeout as pause } from 'node:timers/promises';
import { BankingClient } from '@banking/client';
import type { AuditEvent } from '@banking/domain';

/** How long the recorder may take on a slow machine. */
const RECORDED_MAX_MS = 60_000;
const POLL_MS = 50;

/**
 * Waits for an entry of an operation in the audit trail of the first workspace.
 *
 * @param actorType the type of its actor. Default: any
 * @returns the newest such entry
 * @throws Error if there is none in time
 */
export async function untilAudited(
  url: string,
  token: string,
  operation: string,
  actorType?: string,
): Promise<AuditEvent> {
  const { auditEvents } = new BankingClient({ baseUrl: url, token }).workspace(1);
  for (const untilMs = performance.now() + RECORDED_MAX_MS; performance.now() < untilMs; await pause(POLL_MS)) {
    const { items } = await auditEvents.listPage({ operation });
    const event = items.find(({ actor }) => actorType === undefined || actor.type === actorType);
    if (event) return event;
  }
  throw new Error(`the audit trail has no entry of ${operation}`);
}
