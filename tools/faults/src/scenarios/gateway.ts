import { setTimeout as sleep } from 'node:timers/promises';
import { join } from 'node:path';
import { LocalIssuer } from '@banking/local-issuer';
import type { Endpoint } from '../call.js';
import type { SentOrder } from '../client-log.js';
import { operationsOf } from '../history.js';
import { checkFinalState } from '../final-state.js';
import type { RunContext, Scenario } from '../scenario.js';
import { isRetried, sendOrder } from '../send-order.js';
import { freePort, ServiceProcess } from '../service-process.js';
import { UpstreamProxy } from '../upstream-proxy.js';
import { FUNDS, Preparation } from '../world.js';

/** Fewer than the failures in a row that open the circuit of the gateway. */
const CLIENTS = 4;
const RESET_SHARE = 3;
const ATTEMPTS_MAX = 40;
const PAUSE_MS = 250;
/** The user of a gateway in the demo data. */
const GATEWAY = 'gateway@northwind.example';

/**
 * Clients place orders through a gateway, whose connection to the upstream is reset after the upstream has the request. The gateway must
 * send no request twice: one attempt of a client is at most one request to the upstream.
 */
export const gateway: Scenario = {
  name: 'gateway',
  faults: ['upstream-reset'],
  phase: 'other',
  minutesMax: 0.7,
  async run(context) {
    const { cluster, tally, log, signal, onProgress } = context;
    const preparation = new Preparation(cluster.endpoint);
    await preparation.readProducts();
    const payer = await preparation.openAccount(1, 'EUR', FUNDS);
    const recipientId = await preparation.addRecipient(1, await preparation.openAccount(1, 'EUR', FUNDS));
    const proxy = await UpstreamProxy.start(cluster.url(0));
    const process = await gatewayOf(context, proxy);
    const startedAt = new Date();
    try {
      onProgress('starting a gateway');
      await process.start();
      onProgress('orders through the gateway, whose connection is reset after the upstream has the order');
      const endpoint = { token: cluster.token, url: () => process.url };
      let placed = 0;
      const client = async () => {
        while (!signal.aborted) {
          placed += 1;
          await placeOne(context, endpoint, proxy, { payer: payer.id, recipientId, number: placed });
        }
      };
      await Promise.all(Array.from({ length: CLIENTS }, client));
      tally.addViolations(process.ownEnds.map((detail) => ({ check: 'processes', detail })));
    } finally {
      await process.stop();
      await proxy.close();
    }
    await checkFinalState(context, { startedAt });
    for (const { key, attempts } of operationsOf(log.events)) {
      const posts = proxy.posts.get(key) ?? 0;
      if (posts <= attempts) continue;
      const detail = `${key} was sent ${attempts} times to the gateway, and ${posts} times to its upstream`;
      tally.addViolations([{ check: 'upstream', detail }]);
    }
  },
};

async function gatewayOf({ cluster }: RunContext, proxy: UpstreamProxy): Promise<ServiceProcess> {
  const dataDir = join(cluster.folder, 'data');
  const issuer = await LocalIssuer.open(dataDir);
  const environment = {
    DATA_DIR: dataDir,
    SANDBOX: 'on',
    UPSTREAM_URL: proxy.url,
    UPSTREAM_TOKEN: await issuer.sign({ email: GATEWAY, audience: 'banking-api', lifetimeSeconds: 24 * 3600 }),
  };
  const logFile = join(cluster.folder, 'gateway.log');
  return new ServiceProcess({ app: 'api', name: 'gateway', port: await freePort(), logFile, environment });
}

/** One order, with its key until it is acknowledged. */
async function placeOne(
  { log, prefix, random, tally, signal }: RunContext,
  endpoint: Endpoint,
  proxy: UpstreamProxy,
  { payer, recipientId, number }: { readonly payer: number; readonly recipientId: number; readonly number: number },
): Promise<void> {
  const key = `${prefix}-${number}`;
  const amount = String(random.between(1, 500));
  const order: SentOrder = { key, workspaceId: 1, accountId: payer, recipientId, amount };
  const isReset = number % RESET_SHARE === 0;
  if (isReset) proxy.resetOnce(key);
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
    const response = await sendOrder(endpoint, log, { order, isPayout: false, attempt, api: 0 });
    if (response.outcome === 'ok') {
      tally.count('acknowledged');
      tally.count('keys');
      tally.countOperation(true);
      if (!isReset) return;
      await log.append({ event: 'fault', kind: 'upstream-reset', target: key });
      return tally.countFault('upstream-reset');
    }
    if (!isRetried(response)) break;
    await sleep(PAUSE_MS, undefined, { signal }).catch(() => undefined);
  }
  tally.countOperation(false);
}
