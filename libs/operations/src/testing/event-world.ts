import { EVENT_TYPES, FINAL_EVENT_TYPES, type Refusal, type WebhookEndpointId } from '@banking/domain';
import { SANDBOX_ROUTING, sandboxRails } from '@banking/payouts';
import type { Database } from '@banking/postgres';
import type { FreshDatabase } from '@banking/postgres/testing';
import { DEMO_RATES } from '@banking/reference';
import { Worker } from '@banking/work-queue';
import { recordChanges } from '../events/record-changes.js';
import { LedgerBankingService } from '../ledger-banking-service.js';
import type { WebhookTerms } from '../webhooks/webhook-endpoints.js';
import { workOf } from '../worker/start-banking-worker.js';
import { orderWorld } from './order-world.js';

/** An order world with a worker, whose events are recorded when a spec reads them. */
export async function eventWorld() {
  const given = await orderWorld();
  const { world, ada } = given;
  const service = new LedgerBankingService(
    world.database,
    world.books,
    { rates: DEMO_RATES, rails: SANDBOX_ROUTING },
    true,
  );
  const errors: unknown[] = [];
  const settings = { orders: service.orders, rails: sandboxRails, onError: (error: unknown) => errors.push(error) };
  const worker = new Worker(workOf(world, settings));
  await recordAll(world.database);
  return {
    ...given,
    service,
    /** Ada as the only actor of events. */
    byAda: [JSON.stringify({ id: ada.actor, type: 'user' })],
    /** The events of what a call changes. */
    async eventsOf(call: () => Promise<unknown>): Promise<readonly EventRow[]> {
      await recordAll(world.database);
      const last = (await readEvents(world.owner)).at(-1)?.id;
      await call();
      await recordAll(world.database);
      return readEvents(world.owner, last);
    },
    /** Does due work. The network reports all its events at once. */
    async work(): Promise<void> {
      do {
        await world.owner.query(
          'update sandbox_rail_event set due_at = now(), handed_until = null where not acknowledged',
        );
      } while ((await worker.step()) > 0);
    },
    async expectVerified(): Promise<void> {
      expect(await verifyEvents(world)).toEqual([]);
      expect(errors).toEqual([]);
    },
  };
}

/** In short: the type of each event, and the step of the status. */
export const stepsOf = (events: readonly EventRow[]): string[] =>
  events.map(({ type, changes: { status } }) => (status ? `${type} ${status.before}>${status.after}` : type));

/** The actors of events, each once. */
export const actorsOf = (events: readonly EventRow[]): string[] => [
  ...new Set(events.map(({ actor }) => JSON.stringify(actor))),
];

/** Sealing that a spec can read: the context, and the bytes. */
export const TERMS: WebhookTerms = {
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

/** An event as it is stored. */
export interface EventRow {
  readonly workspace_id: bigint;
  readonly id: bigint;
  readonly type: string;
  readonly resource_type: string;
  readonly resource_id: bigint;
  readonly sequence: number;
  readonly changes: { readonly status?: { readonly before: string | null; readonly after: string } } & Readonly<
    Record<string, unknown>
  >;
  readonly actor: { readonly type: string; readonly id?: number };
}

/** The rows that have events, with the last status of those that have a status. */
const RESOURCES = `
  select 'order' as type, workspace_id, id, status from customer_order
  union all select 'execution', workspace_id, id, status from execution
  union all select 'transaction', workspace_id, id, status from transaction
  union all select 'account', workspace_id, id, status from account where kind = 'customer'
  union all select 'transfer', workspace_id, id, null from transfer
  union all select 'recipient', workspace_id, id, null from recipient
  union all select 'quote', workspace_id, id, null from quote
  union all select 'limits', workspace_id, workspace_id, null from limit_list where version > 0
  union all select 'webhookEndpoint', workspace_id, id, status from webhook_endpoint
  union all select 'serviceAccount', workspace_id, id, null from service_account
  union all select 'key', workspace_id, id, null from service_account_key`;

/** Records all changes that are committed. */
export async function recordAll(database: Database): Promise<void> {
  while ((await recordChanges(database)) > 0);
}

/** All events with an id above one, of all workspaces. */
export async function readEvents(owner: FreshDatabase['owner'], after = 0n): Promise<readonly EventRow[]> {
  const { rows } = await owner.query<EventRow>('select * from event where id > $1 order by id', [after]);
  return rows;
}

/**
 * Records all changes, and compares the events of all workspaces with the rows: each row that was written since the migration has events,
 * their sequence has no gap, each continues the status of the one before by a listed step, none follows one of a final type, and the last
 * one has the status of the row.
 *
 * @returns the findings
 */
export async function verifyEvents({
  database,
  owner,
}: Pick<FreshDatabase, 'database' | 'owner'>): Promise<readonly string[]> {
  await recordAll(database);
  const chains = new Map<string, EventRow[]>();
  for (const event of await readEvents(owner)) {
    const name = `${event.workspace_id}/${event.resource_type}/${event.resource_id}`;
    const chain = chains.get(name);
    if (chain) chain.push(event);
    else chains.set(name, [event]);
  }
  const findings = [...chains].flatMap(([name, chain]) => findingsOf(name, chain));
  const { rows } = await owner.query<{ name: string; status: string | null }>(
    `select workspace_id || '/' || type || '/' || id as name, status from (${RESOURCES}) r`,
  );
  for (const { name, status } of rows) {
    const chain = chains.get(name);
    if (!chain) findings.push(`${name} has no event`);
    const last = chain?.findLast(({ changes }) => changes.status)?.changes.status?.after;
    if (chain && status !== null && last !== status)
      findings.push(`${name} is ${status}, and its events end with ${last}`);
  }
  return findings;
}

function findingsOf(name: string, chain: readonly EventRow[]): string[] {
  const findings: string[] = [];
  let status: string | null = null;
  for (const [index, { type, sequence, changes, resource_type: resource }] of chain.entries()) {
    if (sequence !== index + 1) findings.push(`${name} has the sequence ${sequence} at ${index + 1}`);
    const row = EVENT_TYPES.find((one) => one.type === type);
    if (!row) findings.push(`${name} has the unknown type ${type}`);
    const former = chain[index - 1]?.type;
    if (FINAL_EVENT_TYPES.some((final) => final === former)) findings.push(`${name}: ${type} follows ${former}`);
    if (!changes.status) continue;
    const { before, after } = changes.status;
    if (resource !== 'payout' && before !== status)
      findings.push(`${name}: ${type} begins with ${before} after ${status}`);
    const steps: readonly (readonly [string | null, string])[] = row?.steps ?? [];
    if (!steps.some(([from, to]) => from === before && to === after)) {
      findings.push(`${name}: ${type} is not the type of the step from ${before} to ${after}`);
    }
    status = after;
  }
  return findings;
}
