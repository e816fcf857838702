import { call, type Received } from '../call.js';
import { sampleResources } from '../process-resources.js';
import { checkFinalState } from '../final-state.js';
import type { RunContext, Scenario } from '../scenario.js';
import { sendOrder } from '../send-order.js';
import { FUNDS, type LoadAccount, Preparation } from '../world.js';

const REQUESTS = 500;
const RETRY_AFTER_MAX_S = 2;
const RECOVERED_WITHIN_MS = 2_000;
const GROWTH_MAX_BYTES = 64 * 1024 * 1024;

/**
 * A lock on the accounts holds every database connection of the services, while 500 requests arrive. Each must get a 503 with a time
 * after which to retry. Once the lock is released, orders are placed within two seconds.
 */
export const exhaustedPool: Scenario = {
  name: 'exhausted-pool',
  faults: ['lock'],
  phase: 'alone',
  minutesMax: 0.5,
  async run(context) {
    const { cluster, signal, onProgress } = context;
    const preparation = new Preparation(cluster.endpoint);
    await preparation.readProducts();
    const payer = await preparation.openAccount(1, 'EUR', FUNDS);
    const recipientId = await preparation.addRecipient(1, await preparation.openAccount(1, 'EUR', FUNDS));
    const startedAt = new Date();
    const sender = new Sender(context, payer, recipientId);
    onProgress(`${REQUESTS} requests without a lock`);
    await sender.sendTogether();
    onProgress(`${REQUESTS} requests while a lock holds all database connections`);
    do await playRound(context, sender);
    while (!signal.aborted);
    await checkFinalState(context, { startedAt });
  },
};

async function playRound({ cluster, log, tally }: RunContext, sender: Sender): Promise<void> {
  const before = sampleResources(cluster, 0);
  const lock = await cluster.database.connect();
  let responses: readonly Received[];
  try {
    await lock.query('begin');
    await lock.query('lock table banking.account in access exclusive mode');
    responses = await sender.sendTogether();
  } finally {
    // Releases the lock.
    await lock.end();
  }
  const releasedAt = performance.now();
  const isRecovered = await Promise.all(cluster.apis.map((_, api) => sender.untilPlaced(api)));
  const recoveryMs = Math.round(performance.now() - releasedAt);
  await log.append({ event: 'fault', kind: 'lock', target: 'account' });
  tally.countFault('lock');
  tally.count('requests', responses.length);
  for (const { status, headers, error, ms } of responses) {
    const retryAfter = Number(headers?.['retry-after'] ?? NaN);
    const isExpected = status === 503 && retryAfter >= 1 && retryAfter <= RETRY_AFTER_MAX_S;
    tally.countOperation(isExpected);
    if (isExpected) continue;
    const detail = `a request got ${status ?? error} after ${Math.round(ms)} ms, Retry-After ${headers?.['retry-after'] ?? 'missing'}`;
    tally.addViolations([{ check: 'outcome', detail }]);
  }
  if (recoveryMs > RECOVERED_WITHIN_MS || isRecovered.includes(false)) {
    const detail = `orders were placed ${recoveryMs} ms after the lock was released`;
    tally.addViolations([{ check: 'response-time', detail }]);
  }
  for (const { process, pid, rssBytes } of sampleResources(cluster, 0)) {
    const grown = rssBytes - (before.find((sample) => sample.pid === pid)?.rssBytes ?? rssBytes);
    if (grown <= GROWTH_MAX_BYTES) continue;
    const detail = `${process} grew by ${Math.round(grown / 1024 / 1024)} MiB for ${REQUESTS} requests`;
    tally.addViolations([{ check: 'growth', detail }]);
  }
}

class Sender {
  private placed = 0;

  constructor(
    private readonly context: RunContext,
    private readonly payer: LoadAccount,
    private readonly recipientId: number,
  ) {}

  /** Orders and reads at once, through both processes. */
  async sendTogether(): Promise<Received[]> {
    const { endpoint } = this.context.cluster;
    const received: Received[] = [];
    const one = async (index: number) => {
      if (index % 2 === 0) {
        const path = `/accounts/${this.payer.id}`;
        received.push(await call(endpoint, { api: index >> 1, method: 'GET', path, workspaceId: 1 }));
      } else {
        await this.place(index >> 1, (response) => received.push(response));
      }
    };
    await Promise.all(Array.from({ length: REQUESTS }, (_, index) => one(index)));
    return received;
  }

  /** Places an order, again and again until one is acknowledged. */
  async untilPlaced(api: number): Promise<boolean> {
    const until = Date.now() + 10 * RECOVERED_WITHIN_MS;
    while (Date.now() < until) if (await this.place(api, () => undefined)) return true;
    return false;
  }

  private async place(api: number, onReceived: (received: Received) => void): Promise<boolean> {
    const { cluster, log, prefix } = this.context;
    this.placed += 1;
    const key = `${prefix}-${this.placed}`;
    const order = { key, workspaceId: 1, accountId: this.payer.id, recipientId: this.recipientId, amount: '5' };
    const endpoint = { ...cluster.endpoint, onReceived };
    return (await sendOrder(endpoint, log, { order, isPayout: false, attempt: 1, api })).outcome === 'ok';
  }
}
