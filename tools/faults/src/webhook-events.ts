import type { Cluster } from './cluster.js';
import { call } from './call.js';

const WORKSPACE = 1;
/** The type of the planted events. No operation of a scenario makes it. */
const TYPE = 'account.changed';
/** Ids of resources that no service gives. */
const RESOURCES_FROM = 4_000_000_000_000;
const CHANGES_OF_ROW = 100;

/** An event as it is stored. */
export interface PlantedEvent {
  readonly id: number;
  readonly resource: string;
  readonly sequence: number;
}

/** Creates an endpoint for the planted events. @throws Error if it is refused */
export async function createEndpoint({ endpoint }: Cluster, url: string, key: string) {
  const body = { url, types: [TYPE], description: 'A receiver of the fault runs' };
  const options = { api: 0, method: 'POST', path: '/webhook-endpoints', workspaceId: WORKSPACE, key, body } as const;
  const received = await call(endpoint, options);
  if (received.status !== 201) throw new Error(`the endpoint was answered with ${received.status}: ${received.body}`);
  return JSON.parse(received.body) as { readonly id: number; readonly secret: string };
}

/** Writes changes of resources into the outbox, as a trigger does: one of each. The worker makes events of them. */
export async function plantChanges({ database }: Cluster, from: number, resources: number): Promise<void> {
  await database.query(
    `insert into banking.change_outbox (changes)
     select jsonb_agg(jsonb_build_array($1::bigint, $2::text, $3::bigint + n, '{}'::jsonb) order by n)
     from generate_series($4::int, $4::int + $5::int - 1) n group by n / ${CHANGES_OF_ROW} order by n / ${CHANGES_OF_ROW}`,
    [WORKSPACE, TYPE, RESOURCES_FROM, from, resources],
  );
}

/** The planted events that were recorded. */
export async function readPlanted({ database }: Cluster): Promise<readonly PlantedEvent[]> {
  const rows = await database.query<{ id: string; resource: string; sequence: number }>(
    `select id::text, resource_type || ' ' || resource_id as resource, sequence from banking.event
     where workspace_id = $1 and type = $2 and resource_id >= $3 order by id`,
    [WORKSPACE, TYPE, RESOURCES_FROM],
  );
  return rows.map(({ id, ...rest }) => ({ id: Number(id), ...rest }));
}

/** Makes retries due, and ends the pause of endpoints that have not answered yet, so that a run does not wait for hours. */
export async function makeRetriesDue({ database }: Cluster): Promise<void> {
  await database.query(
    `update banking.webhook_delivery set next_attempt_at = now() where status = 'pending' and next_attempt_at > now()`,
  );
  await database.query('update banking.webhook_endpoint set claimed_at = null where answered_url is distinct from url');
}
