import { setTimeout as sleep } from 'node:timers/promises';
import { type MinorUnits, parseTransferAmount, subtract } from '@banking/domain';
import { call, type Endpoint } from './call.js';
import type { ClientLog, ResponseEvent, SentOrder } from './client-log.js';
import type { Random } from './random.js';
import { isRetried, sendOrder } from './send-order.js';
import { FUNDS, type LoadAccount, type LoadWorld, PAYOUT_AMOUNT, PAYOUT_FEE } from './world.js';

/** A client gives up an order after this time; its outcome may then stay unknown. */
const GIVE_UP_MS = 60_000;
const PAUSE_MS = [50, 400] as const;
/** Minor units. The least of a conversion is more than a unit of the other currency. */
const AMOUNTS = [5, 500] as const;
/**
 * Of 10 orders, so many are payouts, so many pay from the account of the client, and so many convert between two pool accounts. The
 * others are between pool accounts of one currency.
 */
const SHARES = { payout: 1, owned: 5, quad: 2 };

export interface LoadOptions {
  readonly endpoint: Endpoint;
  readonly world: LoadWorld;
  readonly log: ClientLog;
  readonly random: Random;
  /** The beginning of every key of the run. */
  readonly prefix: string;
  readonly signal: AbortSignal;
  /** Called after each order. */
  readonly onOrder: (outcome: ResponseEvent['outcome'], isQuad: boolean) => void;
  /** Whether each client waits between two orders as long as an order takes: half of the load. */
  readonly isHalf?: boolean;
  /** Whether each client also reads the list of orders and the statement of the account. */
  readonly readsLists?: boolean;
  /** Called after each read that was compared. */
  readonly onRead: () => void;
}

/** A payment that a client chose. */
interface Choice {
  readonly order: SentOrder;
  readonly isPayout: boolean;
  readonly isOwned: boolean;
  /** Between two currencies, so that four accounts are debited or credited: payer, payee, and ours of both currencies. */
  readonly isQuad: boolean;
}

/** Runs one client for each owned account until the signal. Each client finishes the order it has begun. */
export async function runLoad(options: LoadOptions): Promise<void> {
  await Promise.all(options.world.owned.map((account, index) => new LoadClient(options, account, index).run()));
}

class LoadClient {
  private readonly random: Random;
  private placed = 0;
  /** The balance of the own account; undefined once an order on it ended with an unknown outcome. */
  private balance: MinorUnits | undefined = FUNDS;

  constructor(
    private readonly options: LoadOptions,
    private readonly account: LoadAccount,
    private readonly index: number,
  ) {
    this.random = options.random.fork(`client ${index}`);
  }

  async run(): Promise<void> {
    const { endpoint, signal, onOrder, isHalf } = this.options;
    while (!signal.aborted) {
      const beganAt = Date.now();
      const choice = this.choose();
      const { outcome, orderId, api, status } = await this.place(choice);
      onOrder(outcome, choice.isQuad);
      if (choice.isOwned) this.count(choice, outcome);
      if (outcome === 'ok' && orderId !== undefined) await this.readBack(choice, orderId, api + 1);
      if (status === 401) await endpoint.renewToken?.(api);
      if (isHalf) await sleep(Date.now() - beganAt, undefined, { signal }).catch(() => undefined);
    }
  }

  private choose(): Choice {
    const { random, account, options } = this;
    const { world, prefix } = options;
    const kind = random.below(10);
    const isPayout = kind < SHARES.payout;
    const isOwned = isPayout || kind < SHARES.payout + SHARES.owned;
    const payer = isOwned ? account : random.pick(world.pool);
    const isQuad = !isOwned && kind < SHARES.payout + SHARES.owned + SHARES.quad;
    const isPayee = ({ currency, id }: LoadAccount) =>
      isQuad ? currency !== payer.currency : currency === payer.currency && id !== payer.id;
    const payees = world.pool.filter(isPayee);
    const key = `${prefix}-${this.index}-${(this.placed += 1)}`;
    const recipientId = isPayout
      ? world.payoutRecipient(payer.workspaceId)
      : world.recipientFor(payer.workspaceId, random.pick(payees));
    const amount = String(isPayout ? PAYOUT_AMOUNT : random.between(...AMOUNTS));
    return {
      order: { key, workspaceId: payer.workspaceId, accountId: payer.id, recipientId, amount },
      ...{ isPayout, isOwned, isQuad },
    };
  }

  /** Sends the order, with the same key again while that is worth it, each time to any api. */
  private async place({
    order,
    isPayout,
  }: Choice): Promise<Pick<ResponseEvent, 'outcome' | 'orderId' | 'status'> & { api: number }> {
    const { endpoint, log } = this.options;
    const until = Date.now() + GIVE_UP_MS;
    let hasUnknown = false;
    for (let attempt = 1; ; attempt += 1) {
      const api = this.random.below(2);
      const response = await sendOrder(endpoint, log, { order, isPayout, attempt, api });
      hasUnknown ||= response.outcome === 'unknown';
      if (!isRetried(response) || Date.now() > until) {
        const outcome = response.outcome === 'refused' && hasUnknown ? 'unknown' : response.outcome;
        return { ...response, outcome, api };
      }
      await sleep(this.random.between(...PAUSE_MS));
    }
  }

  private count({ order, isPayout }: Choice, outcome: ResponseEvent['outcome']): void {
    if (outcome === 'unknown') this.balance = undefined;
    if (outcome !== 'ok' || this.balance === undefined) return;
    this.balance = subtract(this.balance, parseTransferAmount(order.amount));
    if (isPayout) this.balance = subtract(this.balance, PAYOUT_FEE);
  }

  /** Reads the order and the balance through the other process, at once after the acknowledgement. */
  private async readBack(choice: Choice, orderId: number, api: number): Promise<void> {
    const { order, isOwned } = choice;
    const { workspaceId, accountId, key } = order;
    if (this.options.readsLists === true) await this.readLists(choice, orderId, api);
    const path = `/accounts/${accountId}`;
    // An instant order is completed when it is placed.
    const orderOf = ({ description, status }: Record<string, unknown>) => `${description} ${status}`;
    await this.read(api, workspaceId, `${path}/orders/${orderId}`, `${key} completed`, orderOf);
    if (!isOwned || this.balance === undefined) return;
    const balanceOf = ({ edges }: Record<string, unknown>) =>
      `${(edges as { balances: { amount: number }[] }).balances[0]?.amount}`;
    await this.read(api, workspaceId, path, String(this.balance), balanceOf);
  }

  /**
   * Reads the order in the list of its account, and the balance in the statement. Then reads the newest order of the list, which may be
   * of another client: what a list has shown, a later read shows too.
   */
  private async readLists({ order, isOwned }: Choice, orderId: number, api: number): Promise<void> {
    const { workspaceId, accountId } = order;
    let newest: number | undefined;
    const shown = (orders: unknown) => {
      const ids = (orders as { id: number }[]).map(({ id }) => id);
      newest = ids[0];
      return ids.includes(orderId) ? `order ${orderId}` : `${ids.length} orders without it`;
    };
    await this.read(api, workspaceId, `/orders?accountId=${accountId}`, `order ${orderId}`, shown);
    if (newest !== undefined) {
      const path = `/accounts/${accountId}/orders/${newest}`;
      await this.read(api + 1, workspaceId, path, `order ${newest}`, ({ id }) => `order ${String(id)}`);
    }
    if (!isOwned || this.balance === undefined) return;
    const period = 'from=2000-01-01T00:00:00Z&to=2100-01-01T00:00:00Z&limit=1';
    const closing = ({ closingBalance }: Record<string, unknown>) => String(closingBalance);
    await this.read(api, workspaceId, `/accounts/${accountId}/statement?${period}`, String(this.balance), closing);
  }

  /** A read without a response, or with a failure of the service, compares nothing. */
  private async read(
    api: number,
    workspaceId: number,
    path: string,
    expected: string,
    valueOf: (body: Record<string, unknown>) => string,
  ): Promise<void> {
    const { endpoint, log, onRead } = this.options;
    const { status, body } = await call(endpoint, { api, method: 'GET', path, workspaceId });
    if (status === undefined || status >= 500) return;
    if (status === 401 && endpoint.renewToken !== undefined) return endpoint.renewToken(api);
    const actual = status === 200 ? valueOf(JSON.parse(body) as Record<string, unknown>) : `status ${status}`;
    await log.append({ event: 'read', check: 'reads', subject: path, api: api % 2, expected, actual });
    onRead();
  }
}
