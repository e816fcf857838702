import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster } from '../cluster.js';
import { call } from '../orders.js';
import { noteFault, type RunContext, type Scenario, type Violation, violationsOf } from '../scenario.js';
import { percentile } from './clients.js';
import { wait } from '../wait.js';

/** What a receiver does with a request that it has read. `hang` sends no response. */
type Reaction = 'deliver' | 'fail' | 'reset' | 'hang';

interface Arrival {
  readonly webhookId: string;
  readonly eventId: number;
  /** The id of the resource of the event, and its position there. */
  readonly resource: number;
  readonly sequence: number;
  readonly atMs: number;
  readonly isSigned: boolean;
  readonly reaction: Reaction;
}

/** A receiver of webhooks that fails by choice, and notes what arrives. */
class WebhookReceiver {
  readonly arrivals: Arrival[] = [];
  readonly counts = new Map<string, number>();
  readonly delivered = new Set<number>();
  private secret = '';
  private readonly server: Server;

  constructor(
    private readonly react: (count: number) => Reaction,
    private readonly onArrival: (arrival: Arrival) => void = () => undefined,
  ) {
    this.server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('error', () => undefined);
      request.on('end', () => this.note(request.headers, Buffer.concat(chunks).toString(), response));
    });
  }

  /** Listens, and creates an endpoint for the planted events. @throws Error if it is refused */
  async subscribe({ endpoint }: Cluster, key: string): Promise<void> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/webhooks`;
    const body = { url, types: [TYPE], description: 'A receiver of the fault runs' };
    const options = { api: 0, method: 'POST', path: '/webhook-endpoints', workspaceId: WORKSPACE, key, body } as const;
    const received = await call(endpoint, options);
    if (received.status !== 201) throw new Error(`the endpoint got ${received.status}: ${received.body}`);
    this.secret = (JSON.parse(received.body) as { readonly secret: string }).secret;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private note(headers: IncomingHttpHeaders, body: string, response: ServerResponse): void {
    const webhookId = String(headers['webhook-id']);
    const { data } = JSON.parse(body) as { data: { id: number; sequence: number; resource: { id: number } } };
    const count = (this.counts.get(webhookId) ?? 0) + 1;
    this.counts.set(webhookId, count);
    const reaction = this.react(count);
    const arrival = {
      ...{ webhookId, reaction, eventId: data.id, sequence: data.sequence, resource: Number(data.resource.id) },
      ...{ atMs: Date.now(), isSigned: this.isSigned(headers, body) },
    };
    this.arrivals.push(arrival);
    if (reaction === 'deliver') {
      this.delivered.add(data.id);
      response.writeHead(204).end();
    } else if (reaction === 'fail') response.writeHead(500).end('planned');
    else if (reaction === 'reset') response.socket?.resetAndDestroy();
    this.onArrival(arrival);
  }

  /** As Standard Webhooks describes, without our code. */
  private isSigned(headers: IncomingHttpHeaders, body: string): boolean {
    const key = Buffer.from(this.secret.replace(/^whsec_/, ''), 'base64');
    const content = `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${body}`;
    const expected = Buffer.from(`v1,${createHmac('sha256', key).update(content).digest('base64')}`);
    const signatures = String(headers['webhook-signature'])
      .split(' ')
      .map((one) => Buffer.from(one));
    return signatures.some((one) => one.length === expected.length && timingSafeEqual(one, expected));
  }
}

const WORKSPACE = 1;
const TYPE = 'account.changed';
/** Ids of resources that no service gives. */
const RESOURCES_FROM = 4_000_000_000_000;
const CHANGES_OF_ROW = 100;

/** Writes changes of resources into the outbox, as a trigger does: one of each. The worker makes events of them. */
async function plantChanges({ database }: Cluster, from: number, resources: number): Promise<void> {
  await database.query(
    `insert into banking.change_outbox (changes)
     select jsonb_agg(jsonb_build_array($1::bigint, $2::text, $3::bigint + n, '{}'::jsonb) order by n)
     from generate_series($4::int, $4::int + $5::int - 1) n group by n / ${CHANGES_OF_ROW} order by n / ${CHANGES_OF_ROW}`,
    [WORKSPACE, TYPE, RESOURCES_FROM, from, resources],
  );
}

async function readPlanted({ database }: Cluster): Promise<readonly number[]> {
  const rows = await database.query<{ id: number }>(
    `select id::float8 as id from banking.event where workspace_id = $1 and type = $2 and resource_id >= $3 order by id`,
    [WORKSPACE, TYPE, RESOURCES_FROM],
  );
  return rows.map(({ id }) => id);
}

/** An endpoint that has not answered yet gets one request, and then none for a time. */
const END_PAUSE = 'update banking.webhook_endpoint set claimed_at = null where answered_url is distinct from url';

/** Compares what a receiver got with the events that were recorded: none missing, in order at first, signed, with one id each. */
function checkWebhooks({ arrivals, delivered }: WebhookReceiver, events: readonly number[]): Violation[] {
  const seen = new Set<string>();
  const last = new Map<number, number>();
  const names = new Map<number, string>();
  // The first request for each event that came after one for a later event of its resource.
  const inverted = arrivals.filter(({ webhookId, resource, sequence }) => {
    const before = last.get(resource) ?? 0;
    if (seen.has(webhookId)) return false;
    seen.add(webhookId);
    last.set(resource, Math.max(before, sequence));
    return sequence < before;
  });
  const renamed = arrivals.filter(({ eventId, webhookId }) => {
    const name = names.get(eventId) ?? webhookId;
    names.set(eventId, name);
    return name !== webhookId;
  });
  const faults: readonly (readonly [string, readonly unknown[]])[] = [
    ['events did not arrive', events.filter((id) => !delivered.has(id))],
    ['first requests came before one of the same resource', inverted.map(({ eventId }) => eventId)],
    ['requests had no valid signature', arrivals.filter(({ isSigned }) => !isSigned).map((one) => one.webhookId)],
    ['requests for an event had another webhook-id', renamed.map(({ webhookId }) => webhookId)],
  ];
  const found = faults.filter(([, wrong]) => wrong.length > 0);
  return violationsOf(
    'webhooks',
    found.map(([what, wrong]) => `${wrong.length} ${what}: ${wrong.slice(0, 3).join(', ')}`),
  );
}

const RESOURCES = 2_000;
const EVENTS_EACH = 3;
const WAVES = 10;
const KILLS = 10;
const FAILS = 0.3;
const RESETS = 0.1;
const HANGS = 0.05;
/** From this arrival on, an event is accepted, so that none uses all of its attempts. */
const FAULTY_ARRIVALS = 5;
const POLL_MS = 500;
const DELIVERED_WITHIN_MS = 900_000;

/**
 * The worker delivers to a receiver that fails 30 %, resets 10 % and hangs 5 % of the requests, while workers are killed. Each event must
 * arrive, first in the order of its resource, signed, and always with one `webhook-id`.
 */
const webhooks: Scenario = {
  ...{ name: 'webhooks', faults: ['kill-worker'], phase: 'other', minutesMax: 9 },
  async run(context) {
    const { cluster, random, tally, signal, prefix } = context;
    const react = (count: number): Reaction => {
      const value = count >= FAULTY_ARRIVALS ? 1 : random.next();
      if (value < FAILS) return 'fail';
      if (value < FAILS + RESETS) return 'reset';
      return value < FAILS + RESETS + HANGS ? 'hang' : 'deliver';
    };
    const receiver = new WebhookReceiver(react, ({ reaction }) => tally.countOperation(reaction === 'deliver'));
    try {
      await receiver.subscribe(cluster, prefix);
      const ended = new AbortController();
      const killing = killWorkers(context, AbortSignal.any([ended.signal, signal]), () => receiver.delivered.size);
      for (let wave = 0; wave < WAVES * EVENTS_EACH && !signal.aborted; wave += 1) {
        await plantChanges(cluster, ((wave % WAVES) * RESOURCES) / WAVES, RESOURCES / WAVES);
        await wait(POLL_MS, signal);
      }
      await untilDelivered(context, receiver);
      ended.abort();
      await killing;
      tally.addViolations(checkWebhooks(receiver, await readPlanted(cluster)));
      tally.notes.push(`${receiver.arrivals.length - receiver.counts.size} requests were repeated`);
      tally.count('deliveries', receiver.delivered.size);
    } finally {
      await receiver.close();
    }
    // Its events are of no resource, so that the books have findings.
    return undefined;
  },
};

/** Makes retries due until every planted event has arrived, so that a run does not wait for hours, or the time is over. */
async function untilDelivered({ cluster }: RunContext, { delivered }: WebhookReceiver): Promise<void> {
  const until = Date.now() + DELIVERED_WITHIN_MS;
  const { database } = cluster;
  while (Date.now() < until) {
    const events = await readPlanted(cluster);
    const isRecorded = (await database.query('select from banking.change_outbox limit 1')).length === 0;
    if (isRecorded && events.every((id) => delivered.has(id))) return;
    await database.query(
      `update banking.webhook_delivery set next_attempt_at = now() where status = 'pending' and next_attempt_at > now()`,
    );
    await database.query('update banking.webhook_due set due_at = now() where due_at > now()');
    await database.query(END_PAUSE);
    await sleep(POLL_MS);
  }
}

async function killWorkers(context: RunContext, signal: AbortSignal, delivered: () => number): Promise<void> {
  const { cluster, random } = context;
  const step = (RESOURCES * EVENTS_EACH) / (KILLS + 2);
  for (let kill = 0; kill < KILLS && !signal.aborted; kill += 1) {
    while (delivered() < (kill + 1) * step && !signal.aborted) await sleep(20);
    await sleep(random.between(0, 500));
    const { process } = cluster.workers[kill % 2]!;
    await process.kill();
    await process.start();
    await noteFault(context, 'kill-worker', process.name);
  }
}

const HEALTHY = 9;
const DELAY_MAX_MS = 1_000;
const EACH_MS = 250;
const EVENTS_AT_ONCE = 5;

/** One endpoint sends no response, and nine others get the same events. Their delay must not grow. */
const hangingEndpoint: Scenario = {
  ...{ name: 'hanging-endpoint', faults: [], phase: 'alone', minutesMax: 1.5 },
  async run({ cluster, tally, signal, prefix }) {
    const hanging = new WebhookReceiver(() => 'hang');
    const plantedAtMs: (number | undefined)[] = [undefined];
    const delays: number[] = [];
    const note = ({ resource, atMs }: Arrival) => {
      const plantedAt = plantedAtMs[resource - RESOURCES_FROM];
      if (plantedAt !== undefined) delays.push(atMs - plantedAt);
      tally.countOperation(true);
      tally.count('deliveries');
    };
    const healthy = Array.from({ length: HEALTHY }, () => new WebhookReceiver(() => 'deliver', note));
    try {
      for (const [index, one] of [hanging, ...healthy].entries()) await one.subscribe(cluster, `${prefix}-${index}`);
      // The delay is that to endpoints that have answered before.
      await plantChanges(cluster, 0, 1);
      const until = Date.now() + DELIVERED_WITHIN_MS;
      while (healthy.some(({ delivered }) => delivered.size === 0) && Date.now() < until) {
        await cluster.database.query(END_PAUSE);
        await sleep(POLL_MS);
      }
      while (!signal.aborted) {
        const from = plantedAtMs.length;
        plantedAtMs.push(...Array.from({ length: EVENTS_AT_ONCE }, () => Date.now()));
        await plantChanges(cluster, from, EVENTS_AT_ONCE);
        await wait(EACH_MS, signal);
      }
      const wanted = plantedAtMs.length;
      while (healthy.some(({ delivered }) => delivered.size < wanted) && Date.now() < until) await sleep(POLL_MS);
      const p95 = percentile(delays, 0.95);
      const figures = `95 % of the deliveries to other endpoints took up to ${p95} ms`;
      tally.notes.push(figures);
      if (p95 > DELAY_MAX_MS) tally.violate('webhooks', figures);
      if (hanging.arrivals.length === 0) tally.doubt('no request hung');
      const events = await readPlanted(cluster);
      for (const receiver of healthy) tally.addViolations(checkWebhooks(receiver, events));
    } finally {
      for (const receiver of [hanging, ...healthy]) await receiver.close();
    }
    return undefined;
  },
};

export const WEBHOOK_SCENARIOS: readonly Scenario[] = [webhooks, hangingEndpoint];
