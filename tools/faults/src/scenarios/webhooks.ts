import { setTimeout as sleep } from 'node:timers/promises';
import { checkWebhooks } from '../check-webhooks.js';
import type { Member } from '../cluster.js';
import type { RunContext, Scenario } from '../scenario.js';
import { createEndpoint, makeRetriesDue, plantChanges, readPlanted } from '../webhook-events.js';
import { type Reaction, WebhookReceiver } from '../webhook-receiver.js';

const RESOURCES = 2_000;
const EVENTS_EACH = 3;
/** The parts of the resources whose changes are written one after another. */
const WAVES = 10;
const KILLS = 10;
const FAILS = 0.3;
const RESETS = 0.1;
const HANGS = 0.05;
/** From this arrival on, an event is accepted, so that none uses all of its attempts. */
const FAULTY_ARRIVALS = 5;
const POLL_MS = 500;
const DELIVERED_WITHIN_MS = 420_000;

/**
 * The worker delivers to a receiver that fails 30 %, resets 10 % and hangs 5 % of the requests, while workers are killed. Each event must
 * arrive, first in the order of its resource, signed, and always with one `webhook-id`.
 */
export const webhooks: Scenario = {
  name: 'webhooks',
  faults: ['kill-worker'],
  phase: 'other',
  minutesMax: 9,
  async run(context) {
    const { cluster, random, tally, signal, prefix, onProgress } = context;
    const react = (_: string, count: number): Reaction => {
      if (count >= FAULTY_ARRIVALS) return 'deliver';
      const value = random.next();
      if (value < FAILS) return 'fail';
      if (value < FAILS + RESETS) return 'reset';
      return value < FAILS + RESETS + HANGS ? 'hang' : 'deliver';
    };
    const { receiver, url, close } = await WebhookReceiver.start(react, ({ reaction }) => {
      tally.countOperation(reaction === 'deliver');
    });
    try {
      receiver.secret = (await createEndpoint(cluster, url, prefix)).secret;
      onProgress(`${RESOURCES} resources with ${EVENTS_EACH} events each, and a receiver that fails`);
      const ended = new AbortController();
      const killing = killWorkers(context, ended.signal, () => receiver.delivered.size);
      for (let wave = 0; wave < WAVES * EVENTS_EACH && !signal.aborted; wave += 1) {
        await plantChanges(cluster, ((wave % WAVES) * RESOURCES) / WAVES, RESOURCES / WAVES);
        await sleep(POLL_MS, undefined, { signal }).catch(() => undefined);
      }
      await untilDelivered(context, receiver);
      ended.abort();
      await killing;
      const events = await readPlanted(cluster);
      tally.addViolations(checkWebhooks(receiver.arrivals, receiver.delivered, events));
      const { ownEnds } = { ownEnds: cluster.members.flatMap(({ process }) => process.ownEnds) };
      tally.addViolations(ownEnds.map((detail) => ({ check: 'processes', detail })));
      const repeated = receiver.arrivals.length - receiver.counts.size;
      onProgress(`${receiver.delivered.size} of ${events.length} events arrived, ${repeated} requests were repeated`);
      tally.count('deliveries', receiver.delivered.size);
    } finally {
      await close();
    }
  },
};

/** Makes retries due until every planted event has arrived, or the time is over. */
async function untilDelivered({ cluster, signal }: RunContext, receiver: WebhookReceiver): Promise<void> {
  const until = Date.now() + DELIVERED_WITHIN_MS;
  while (!signal.aborted && Date.now() < until) {
    const events = await readPlanted(cluster);
    if (events.length >= RESOURCES * EVENTS_EACH && events.every(({ id }) => receiver.delivered.has(id))) return;
    await makeRetriesDue(cluster);
    await sleep(POLL_MS, undefined, { signal }).catch(() => undefined);
  }
}

/** Kills a worker each time after some more events have arrived. */
async function killWorkers(
  { cluster, log, tally, random, signal }: RunContext,
  ended: AbortSignal,
  delivered: () => number,
): Promise<void> {
  const step = (RESOURCES * EVENTS_EACH) / (KILLS + 2);
  for (let kill = 0; kill < KILLS && !signal.aborted && !ended.aborted; kill += 1) {
    while (delivered() < (kill + 1) * step && !signal.aborted && !ended.aborted) await sleep(20);
    await sleep(random.between(0, 500));
    const { process } = cluster.workers[kill % cluster.workers.length] as Member;
    await process.kill();
    await log.append({ event: 'fault', kind: 'kill-worker', target: process.name });
    tally.countFault('kill-worker');
    await process.start();
  }
}
