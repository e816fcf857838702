import { setTimeout as sleep } from 'node:timers/promises';
import { checkWebhooks } from '../check-webhooks.js';
import { percentile } from '../percentile.js';
import type { Scenario } from '../scenario.js';
import { createEndpoint, plantChanges, readPlanted } from '../webhook-events.js';
import { WebhookReceiver } from '../webhook-receiver.js';

const HEALTHY = 9;
const DELAY_MAX_MS = 1_000;
const EACH_MS = 250;
const EVENTS_AT_ONCE = 5;
/** At the end, for the throughput. */
const BURST = 2_000;
const BURST_WITHIN_MS = 120_000;

/** One endpoint sends no response, and nine others get the same events. Their delay must not grow. */
export const hangingEndpoint: Scenario = {
  name: 'hanging-endpoint',
  faults: [],
  phase: 'alone',
  minutesMax: 1.5,
  async run({ cluster, tally, signal, prefix, onProgress }) {
    const hanging = await WebhookReceiver.start(() => 'hang');
    const plantedAtMs = new Map<string, number>();
    const delays: number[] = [];
    const healthy = await Promise.all(
      Array.from({ length: HEALTHY }, () =>
        WebhookReceiver.start(
          () => 'deliver',
          ({ resource, atMs }) => {
            const at = plantedAtMs.get(resource);
            if (at === undefined) return;
            delays.push(atMs - at);
            tally.countOperation(true);
            tally.count('deliveries');
          },
        ),
      ),
    );
    try {
      for (const [index, { receiver, url }] of [hanging, ...healthy].entries()) {
        receiver.secret = (await createEndpoint(cluster, url, `${prefix}-${index}`)).secret;
      }
      onProgress(`one endpoint that hangs, and ${HEALTHY} others`);
      let planted = 0;
      for (; !signal.aborted; planted += EVENTS_AT_ONCE) {
        const atMs = Date.now();
        for (let each = 0; each < EVENTS_AT_ONCE; each += 1) plantedAtMs.set(resourceOf(planted + each), atMs);
        await plantChanges(cluster, planted, EVENTS_AT_ONCE);
        await sleep(EACH_MS, undefined, { signal }).catch(() => undefined);
      }
      const p95 = percentile(delays, 0.95);
      onProgress(
        `${delays.length} deliveries, 95 % within ${p95} ms; ${hanging.receiver.arrivals.length} requests hung`,
      );
      if (p95 > DELAY_MAX_MS) {
        const detail = `95 % of the deliveries to healthy endpoints took up to ${p95} ms, while another endpoint hung`;
        tally.addViolations([{ check: 'webhooks', detail }]);
      }
      if (hanging.receiver.arrivals.length === 0) tally.doubt('no request hung');
      plantedAtMs.clear();
      const beganAt = Date.now();
      const before = healthy.reduce((sum, { receiver }) => sum + receiver.arrivals.length, 0);
      await plantChanges(cluster, planted, BURST);
      const wanted = (planted + BURST) * HEALTHY;
      const arrived = () => healthy.reduce((sum, { receiver }) => sum + receiver.delivered.size, 0);
      while (arrived() < wanted && Date.now() - beganAt < BURST_WITHIN_MS) await sleep(20);
      const perSecond = Math.round(((arrived() - before) * 1_000) / (Date.now() - beganAt));
      onProgress(`${arrived() - before} deliveries of a burst, ${perSecond} a second`);
      const events = await readPlanted(cluster);
      for (const { receiver } of healthy) {
        tally.addViolations(checkWebhooks(receiver.arrivals, receiver.delivered, events));
      }
    } finally {
      for (const { close } of [hanging, ...healthy]) await close();
    }
  },
};

const resourceOf = (number: number) => `account ${4_000_000_000_000 + number}`;
