import { setTimeout as sleep } from 'node:timers/promises';
import type { SentOrder } from '../client-log.js';
import { p99 } from '../percentile.js';
import { checkFinalState } from '../final-state.js';
import type { RunContext, Scenario } from '../scenario.js';
import { isRetried, sendOrder } from '../send-order.js';
import { FUNDS, type LoadAccount, Preparation } from '../world.js';

const HOT_CLIENTS = 12;
const OTHER_CLIENTS = 4;
const OTHERS = 1_000;
const OTHERS_LEAST = 50;
const MEASURED_MS = 60_000;
const SLOWER_MAX = 2;
/** A machine on which an order alone takes longer is too busy to measure times. */
const ALONE_MAX_MS = 300;
const HOT_PER_SECOND = 200;
const TOGETHER = 16;

/**
 * Twelve clients pay from one account, and four from a thousand others. The others must not wait for the hot account: their slowest
 * hundredth takes at most twice as long as without it.
 */
export const hotAccount: Scenario = {
  name: 'hot-account',
  faults: [],
  phase: 'alone',
  minutesMax: 2.2,
  async run(context) {
    const { cluster, limitMs, tally, onProgress } = context;
    const preparation = new Preparation(cluster.endpoint);
    await preparation.readProducts();
    const hot = await preparation.openAccount(1, 'EUR', FUNDS);
    const recipientId = await preparation.addRecipient(1, await preparation.openAccount(1, 'EUR', FUNDS));
    const isWhole = limitMs >= 2 * MEASURED_MS;
    const count = isWhole ? OTHERS : OTHERS_LEAST;
    onProgress(`opening ${count} accounts`);
    const others = await openAccounts(preparation, count);
    const startedAt = new Date();
    const paying = new Paying(context, recipientId);
    const measuredMs = isWhole ? MEASURED_MS : limitMs / 3;
    onProgress(`${OTHER_CLIENTS} clients on ${count} accounts alone`);
    const alone = await paying.run(others, OTHER_CLIENTS, measuredMs / 3);
    onProgress(`${HOT_CLIENTS} clients on one account beside them`);
    const [beside, hotTimes] = await Promise.all([
      paying.run(others, OTHER_CLIENTS, measuredMs),
      paying.run([hot], HOT_CLIENTS, measuredMs),
    ]);
    const perSecond = Math.round(hotTimes.length / (measuredMs / 1_000));
    const figures = `p99 ${Math.round(p99(alone))} ms alone and ${Math.round(p99(beside))} ms beside ${perSecond} orders a second`;
    onProgress(figures);
    if (!isWhole) tally.doubt(`measured for ${Math.round(measuredMs / 1_000)} s only: ${figures}`);
    else {
      tally.count('minutes');
      if (perSecond < HOT_PER_SECOND) tally.doubt(`fewer than ${HOT_PER_SECOND} orders a second: ${figures}`);
      if (p99(alone) > ALONE_MAX_MS) tally.doubt(`the machine is too busy to measure times: ${figures}`);
      else if (p99(beside) > SLOWER_MAX * p99(alone)) tally.addViolations([{ check: 'starvation', detail: figures }]);
    }
    await checkFinalState(context, { startedAt });
  },
};

async function openAccounts(preparation: Preparation, count: number): Promise<LoadAccount[]> {
  const opened: LoadAccount[] = [];
  let left = count;
  const open = async () => {
    while (left > 0) {
      left -= 1;
      opened.push(await preparation.openAccount(1, 'EUR', FUNDS));
    }
  };
  await Promise.all(Array.from({ length: TOGETHER }, open));
  return opened;
}

class Paying {
  private placed = 0;

  constructor(
    private readonly context: RunContext,
    private readonly recipientId: number,
  ) {}

  /** @returns the time of each order, in milliseconds */
  async run(payers: readonly LoadAccount[], clients: number, forMs: number): Promise<number[]> {
    const until = Date.now() + forMs;
    const times: number[] = [];
    const client = async (index: number) => {
      for (let turn = index; Date.now() < until; turn += clients) {
        const beganAt = performance.now();
        const isPlaced = await this.place(payers[turn % payers.length] as LoadAccount);
        if (isPlaced) times.push(performance.now() - beganAt);
        this.context.tally.countOperation(isPlaced);
      }
    };
    await Promise.all(Array.from({ length: clients }, (_, index) => client(index)));
    return times;
  }

  private async place({ id, workspaceId }: LoadAccount): Promise<boolean> {
    const { cluster, log, prefix, tally } = this.context;
    this.placed += 1;
    const order: SentOrder = {
      ...{ key: `${prefix}-${this.placed}`, workspaceId, accountId: id },
      ...{ recipientId: this.recipientId, amount: '5' },
    };
    for (let attempt = 1; ; attempt += 1) {
      const api = this.placed + attempt;
      const response = await sendOrder(cluster.endpoint, log, { order, isPayout: false, attempt, api });
      if (response.outcome === 'ok') {
        tally.count('acknowledged');
        return true;
      }
      if (!isRetried(response) || attempt === 10) return false;
      await sleep(100);
    }
  }
}
