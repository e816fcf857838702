import type { Refusal, WebhookEndpointId } from '@banking/domain';
import { LedgerBankingService } from '../ledger-banking-service.js';
import type { WebhookTerms } from '../webhooks/webhook-terms.js';
import { eventWorld } from './event-world.js';

/** Sealing that a spec can read: the context, and the bytes. */
const TERMS: WebhookTerms = {
  sealer: {
    seal: (plain, { workspaceId, endpointId }) =>
      Buffer.from(`${workspaceId}/${endpointId}/${Buffer.from(plain).toString('base64')}`),
  },
  refusedUrl: (url) => (url.startsWith('https://') ? undefined : 'not_https'),
};

/** A receiver that no spec calls. */
export const RECEIVER = 'https://receiver.example/hook';

/** An event world whose service has webhooks. */
export async function webhookWorld() {
  const given = await eventWorld();
  const { world, ada } = given;
  const service = new LedgerBankingService(world.database, world.books, {}, true, undefined, TERMS);
  return {
    ...given,
    service,
    /** An endpoint of Ada's workspace. */
    endpoint: async (more: Partial<Parameters<typeof service.createWebhookEndpoint>[1]> = {}) =>
      (await service.createWebhookEndpoint(ada, { url: RECEIVER, ...more })).resource,
    /** A column of an endpoint, read as the owner. */
    async stored<T>(id: WebhookEndpointId, column: string): Promise<T> {
      const { rows } = await world.owner.query<{ value: T }>(
        `select ${column} as value from webhook_endpoint where id = $1`,
        [id],
      );
      return rows[0]!.value;
    },
  };
}

/** The reason of a refusal, or `done`. */
export const outcomeOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'done',
    (refusal: unknown) => (refusal as Refusal).reason,
  );
