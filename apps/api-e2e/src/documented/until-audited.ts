import { BankingClient } from '@banking/client';
import type { AuditEvent } from '@banking/domain';
import { until } from '@banking/postgres/testing';

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
  const event = await until(async () => {
    const { items } = await auditEvents.listPage({ operation });
    return items.find(({ actor }) => actorType === undefined || actor.type === actorType);
  });
  return event!;
}
