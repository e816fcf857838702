import type { SentOrder } from '../client-log.js';
import { checkFinalState } from '../final-state.js';
import type { RunContext, Scenario } from '../scenario.js';
import { SQLSTATES } from '../schedule.js';
import { isRetried, sendOrder } from '../send-order.js';
import { ErrorInjection } from '../sql-errors.js';
import { FUNDS, type LoadAccount, Preparation } from '../world.js';

/** Orders at once, of which some fail in the database. */
const TOGETHER = 16;
const SHARE = 0.3;
const TRIES_MAX = 5;
const RETRIES_MAX = 40;

/**
 * The database reports conflicts, lock and statement timeouts, and lost connections while it writes orders. A caller gets its order or a
 * 503, never another refusal. A failing order is tried at most five times.
 */
export const databaseErrors: Scenario = {
  name: 'database-errors',
  faults: SQLSTATES.map((code) => `sqlstate-${code}` as const),
  phase: 'other',
  minutesMax: 1.1,
  async run(context) {
    const { cluster, signal, onProgress } = context;
    const preparation = new Preparation(cluster.endpoint);
    await preparation.readProducts();
    const payers = await Promise.all([1, 2, 3].map(() => preparation.openAccount(1, 'EUR', FUNDS)));
    const recipientId = await preparation.addRecipient(1, await preparation.openAccount(1, 'EUR', FUNDS));
    const injection = await ErrorInjection.install(cluster.database);
    const startedAt = new Date();
    onProgress(`orders whose write fails with ${SQLSTATES.join(', ')}`);
    const placing = new Placing(context, payers, recipientId);
    for (let round = 0; !signal.aborted; round += 1) {
      const code = SQLSTATES[round % SQLSTATES.length] as (typeof SQLSTATES)[number];
      await failAlways(context, placing, injection, code);
      await failSometimes(context, placing, injection, code);
      await context.log.append({ event: 'fault', kind: `sqlstate-${code}`, target: 'customer_order' });
      context.tally.countFault(`sqlstate-${code}`);
    }
    await injection.remove();
    await checkFinalState(context, { startedAt });
  },
};

/** Every write of an order fails. */
async function failAlways(
  { tally }: RunContext,
  placing: Placing,
  injection: ErrorInjection,
  code: string,
): Promise<void> {
  await injection.set(code, 1);
  const before = await injection.count();
  const order = placing.next();
  const isRefused = await placing.send(order, 1, true);
  const tries = (await injection.count()) - before;
  await injection.set(code, 0);
  tally.count('injected', tries);
  if (tries < 1 || tries > TRIES_MAX) placing.violate(`${order.key} was tried ${tries} times after ${code}`);
  tally.countOperation(isRefused && (await placing.complete(order, 2)));
}

/** Some writes fail, of orders that are placed together. */
async function failSometimes(
  { tally }: RunContext,
  placing: Placing,
  injection: ErrorInjection,
  code: string,
): Promise<void> {
  await injection.set(code, SHARE);
  const before = await injection.count();
  const orders = Array.from({ length: TOGETHER }, () => placing.next());
  await Promise.all(orders.map((order) => placing.send(order, 1, false)));
  tally.count('injected', (await injection.count()) - before);
  await injection.set(code, 0);
  const completed = await Promise.all(orders.map((order) => placing.complete(order, 2)));
  for (const isComplete of completed) tally.countOperation(isComplete);
}

class Placing {
  private placed = 0;

  constructor(
    private readonly context: RunContext,
    private readonly payers: readonly LoadAccount[],
    private readonly recipientId: number,
  ) {}

  next(): SentOrder {
    const { random, prefix } = this.context;
    const { id, workspaceId } = random.pick(this.payers);
    this.placed += 1;
    const amount = String(random.between(1, 500));
    return { key: `${prefix}-${this.placed}`, workspaceId, accountId: id, recipientId: this.recipientId, amount };
  }

  violate(detail: string): void {
    this.context.tally.addViolations([{ check: 'outcome', detail }]);
  }

  /** @returns whether the order was refused with 503 and the time after which to retry; anything but that and success is a violation */
  async send(order: SentOrder, attempt: number, mustFail: boolean): Promise<boolean> {
    const { cluster, log, random } = this.context;
    const response = await sendOrder(cluster.endpoint, log, { order, isPayout: false, attempt, api: random.below(2) });
    const { status, reason, retryAfter } = response;
    const isUnavailable = status === 503 && reason === 'unavailable' && Number(retryAfter) > 0;
    const isExpected = isUnavailable || (response.outcome === 'ok' && !mustFail);
    if (!isExpected)
      this.violate(`${order.key} got ${status ?? ''} ${reason ?? ''}, Retry-After ${retryAfter ?? 'missing'}`);
    return isUnavailable;
  }

  /** Without errors, the same key must succeed. */
  async complete(order: SentOrder, from: number): Promise<boolean> {
    const { cluster, log, tally } = this.context;
    for (let attempt = from; attempt < from + RETRIES_MAX; attempt += 1) {
      const response = await sendOrder(cluster.endpoint, log, { order, isPayout: false, attempt, api: attempt });
      if (response.outcome === 'ok') {
        tally.count('acknowledged');
        return true;
      }
      if (!isRetried(response)) break;
    }
    this.violate(`${order.key} was not accepted without errors`);
    return false;
  }
}
