import { randomBytes } from 'node:crypto';
import type { Event } from '@banking/domain';
import { freshDatabase } from '@banking/postgres/testing';
import { networksOf } from '../address-policy.js';
import { secretSealer } from '../secret-sealer.js';
import { WebhookDelivery, type WebhookDeliveryOptions } from '../webhook-delivery.js';

const WORKSPACE = 1;

/** The event of a new resource, as the packages above compose it. */
const composeEvent: WebhookDeliveryOptions['composeEvent'] = ({ id, type, createdAt, sequence, ...event }) => ({
  ...{
    id: Number(id) as Event['id'],
    type,
    createdAt: new Date(createdAt).toISOString() as Event['createdAt'],
    sequence,
  },
  resource: { type: event.resourceType, id: Number(event.resourceId) },
  ...{ changes: { status: { after: event.changes.status?.after ?? '' } }, actor: event.actor },
});

/** A database with endpoints and events, and the workers that deliver them. */
export async function deliveryWorld() {
  const world = await freshDatabase();
  const { database, owner } = world;
  const key = randomBytes(32);
  const sealer = secretSealer([key]);
  const policy = { allowsLoopback: true, allowedNetworks: networksOf([]), refusedNetworks: networksOf([]) };
  const errors: unknown[] = [];
  const workers: WebhookDelivery[] = [];
  let resources = 0;

  const read = async <Row extends object>(sql: string, ...values: unknown[]): Promise<Row[]> =>
    (await owner.query<Row>(sql, values)).rows;

  return {
    world,
    key,
    sealer,
    errors,
    read,
    workspaceId: WORKSPACE,
    worker(more: Partial<WebhookDeliveryOptions> = {}): WebhookDelivery {
      const worker = new WebhookDelivery({
        ...{ database, sealer, composeEvent, onError: (error) => errors.push(error), random: () => 0.5 },
        policy,
        ...more,
      });
      workers.push(worker);
      return worker;
    },
    /** An endpoint behind the last event, with its secret. It has answered before, unless it is new. */
    async endpoint(
      url: string,
      {
        types = [] as string[],
        secret = randomBytes(32) as Uint8Array,
        isNew = false,
        owner = null as number | null,
      } = {},
    ) {
      const [next] = await read<{ id: bigint }>(`select nextval('webhook_endpoint_id_seq') as id`);
      const id = Number(next?.id);
      const sealed = sealer.seal(secret, { workspaceId: WORKSPACE, endpointId: id });
      await read(
        `insert into webhook_endpoint (workspace_id, id, url, types, sealed_secret, created_by, answered_url, cursor_event_id)
         values ($1, $2, $3, $4, $5, $6, case when not $7 then $3 end, coalesce((select max(id) from event), 0))`,
        ...[WORKSPACE, id, url, types, Buffer.from(sealed), owner, isNew],
      );
      return { id, secret };
    },
    /** Events of new resources, so many of each, in turns. Returns their ids. */
    async events(count: number, { each = 1, type = 'order.placed', daysAgo = 0 } = {}): Promise<number[]> {
      const from = resources + 1;
      resources += count;
      const rows = await read<{ id: bigint }>(
        `insert into event (workspace_id, type, resource_type, resource_id, sequence, changes, actor, created_at)
         select $1, $2, split_part($2, '.', 1), resource, turn, '{"status": {"before": null, "after": "active"}}', '{"type": "system"}',
           statement_timestamp() - $6 * interval '1 day'
         from generate_series(1, $5) turn cross join generate_series($3::bigint, $4::bigint) resource order by turn, resource
         returning id`,
        ...[WORKSPACE, type, from, resources, each, daysAgo],
      );
      return rows.map(({ id }) => Number(id));
    },
    endpointRow: async (id: number) =>
      (await read<Record<string, unknown>>('select * from webhook_endpoint where id = $1', id))[0] ?? {},
    deliveries: (endpointId: number) =>
      read<Record<string, unknown>>('select * from webhook_delivery where endpoint_id = $1 order by id', endpointId),
    /** Makes retries due, and pauses of endpoints end. */
    async passTime(): Promise<void> {
      await read(`update webhook_delivery set next_attempt_at = statement_timestamp() where status = 'pending'`);
      await read('update webhook_endpoint set lease_until = null, paused_until = null, claimed_at = null');
    },
    async close(): Promise<void> {
      for (const worker of workers) await worker.stop();
      await world.close();
    },
  };
}
