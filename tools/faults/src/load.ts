import { type MinorUnits, parseTransferAmount, subtract } from '@banking/domain';
import type { SentOrder } from './client-log.js';
import { call, type Endpoint, type Sent, sendUntilDone } from './orders.js';
import type { Random } from './random.js';
import type { RunContext } from './scenario.js';
import { FUNDS, type LoadAccount, type LoadWorld, PAYOUT_AMOUNT, PAYOUT_FEE } from './world.js';
import { wait } from './wait.js';

const PAUSE_MS = [50, 400] as const;
/** Minor units. The least of a conversion is more than a unit of the other currency. */
const AMOUNTS = [5, 500] as const;
/**
 * Of 10 orders, so many are payouts, so many pay from the account of the client, and so many convert between two pool accounts. The
 * others are between pool accounts of one currency.
 */
const SHARES = { payout: 1, owned: 5, quad: 2 };
/** Of so many orders, one is sent again at the end, where `repeats`. */
const REPEATED_EACH = 10;

export interface LoadOptions {
  readonly world: LoadWorld;
  readonly endpoint?: Endpoint;
  readonly signal?: AbortSignal;
  /** How many times as long as an order takes each client waits for the next: once is half of the load. Default: not at all. */
  readonly pauses?: number;
  /** Whether each client also reads the list of orders and the statement of the account. */
  readonly readsLists?: boolean;
  /** Whether earlier orders are sent again at the end: their keys still have their responses. */
  readonly repeats?: boolean;
}

interface Choice {
  readonly order: SentOrder;
  readonly isOwned: boolean;
  /** Between two currencies, so that four accounts are debited or credited: payer, payee, and ours of both currencies. */
  readonly isQuad: boolean;
}

/** Runs one client for each owned account until the signal. Each client finishes the order it has begun. */
export async function runLoad(context: RunContext, options: LoadOptions): Promise<void> {
  await Promise.all(options.world.owned.map((own, index) => new LoadClient(context, options, own, index).run()));
}

class LoadClient {
  private readonly random: Random;
  private readonly endpoint: Endpoint;
  private readonly repeated: SentOrder[] = [];
  private placed = 0;
  /** The balance of the own account; undefined once an order on it ended with an unknown outcome. */
  private balance: MinorUnits | undefined = FUNDS;

  constructor(
    private readonly context: RunContext,
    private readonly options: LoadOptions,
    private readonly account: LoadAccount,
    private readonly index: number,
  ) {
    this.random = context.random.fork(`client ${index}`);
    this.endpoint = options.endpoint ?? context.cluster.endpoint;
  }

  async run(): Promise<void> {
    const { pauses = 0, repeats, signal = this.context.signal } = this.options;
    const { tally } = this.context;
    while (!signal.aborted) {
      const beganAt = Date.now();
      const choice = this.choose();
      const sent = await this.place(choice.order);
      const isPlaced = sent.outcome === 'ok';
      tally.countOperation(isPlaced);
      if (isPlaced) tally.count('acknowledged');
      if (isPlaced && choice.isQuad) tally.count('quads');
      if (choice.isOwned) this.count(choice.order, sent.outcome);
      if (isPlaced) await this.readBack(choice, sent.orderId!, sent.api + 1);
      if (sent.status === 401) await this.endpoint.renewToken?.(sent.api);
      if (repeats && isPlaced && this.placed % REPEATED_EACH === 0) this.repeated.push(choice.order);
      if (pauses > 0) await wait(pauses * (Date.now() - beganAt), signal);
    }
    for (const order of this.repeated) await this.place(order);
  }

  private choose(): Choice {
    const { random, account, options } = this;
    const { pool, payoutRecipient, recipientFor } = options.world;
    const kind = random.below(10);
    const isPayout = kind < SHARES.payout;
    const isOwned = isPayout || kind < SHARES.payout + SHARES.owned;
    const payer = isOwned ? account : random.pick(pool);
    const converted = pool.filter(({ currency }) => currency !== payer.currency);
    const isQuad = !isOwned && kind < SHARES.payout + SHARES.owned + SHARES.quad && converted.length > 0;
    const same = pool.filter(({ currency, id }) => currency === payer.currency && id !== payer.id);
    const { workspaceId, id: accountId } = payer;
    const payee = random.pick(isQuad ? converted : same);
    const recipientId = isPayout ? payoutRecipient(workspaceId) : recipientFor(workspaceId, payee);
    const amount = String(isPayout ? PAYOUT_AMOUNT : random.between(...AMOUNTS));
    const key = `${this.context.prefix}-${this.index}-${(this.placed += 1)}`;
    return { order: { key, workspaceId, accountId, recipientId, amount, isPayout }, isOwned, isQuad };
  }

  /** Sends the order, with the same key again while that is worth it, each time to any api. */
  private place(order: SentOrder): Promise<Sent & { readonly api: number }> {
    const sender = { endpoint: this.endpoint, log: this.context.log };
    const pauseMs = () => this.random.between(...PAUSE_MS);
    return sendUntilDone(sender, order, () => this.random.below(2), { pauseMs });
  }

  private count({ amount, isPayout }: SentOrder, outcome: Sent['outcome']): void {
    if (outcome === 'unknown') this.balance = undefined;
    if (outcome !== 'ok' || this.balance === undefined) return;
    this.balance = subtract(this.balance, parseTransferAmount(amount));
    if (isPayout) this.balance = subtract(this.balance, PAYOUT_FEE);
  }

  /** Reads the order and the balance through the other process, at once after the acknowledgement. */
  private async readBack({ order, isOwned }: Choice, orderId: number, api: number): Promise<void> {
    const { workspaceId, accountId, key } = order;
    const read = (path: string, expected: string, valueOf: (body: Body) => string, through = api) =>
      this.read(through, workspaceId, path, expected, valueOf);
    const path = `/accounts/${accountId}`;
    const balance = isOwned ? this.balance : undefined;
    if (this.options.readsLists) {
      let newest: number | undefined;
      const shown = (orders: Body) => {
        const ids = (orders as unknown as { id: number }[]).map(({ id }) => id);
        newest = ids[0];
        return ids.includes(orderId) ? `order ${orderId}` : `${ids.length} orders without it`;
      };
      await read(`/orders?accountId=${accountId}`, `order ${orderId}`, shown);
      // It may be of another client: what a list has shown, a later read shows too.
      if (newest !== undefined) {
        await read(`${path}/orders/${newest}`, `order ${newest}`, ({ id }) => `order ${String(id)}`, api + 1);
      }
      const period = 'from=2000-01-01T00:00:00Z&to=2100-01-01T00:00:00Z&limit=1';
      const closing = ({ closingBalance }: Body) => String(closingBalance);
      if (balance !== undefined) await read(`${path}/statement?${period}`, String(balance), closing);
    }
    // An instant order is completed when it is placed.
    const orderOf = ({ description, status }: Body) => `${String(description)} ${String(status)}`;
    await read(`${path}/orders/${orderId}`, `${key} completed`, orderOf);
    const balanceOf = ({ edges }: Body) => String((edges as Edges).balances[0]?.amount);
    if (balance !== undefined) await read(path, String(balance), balanceOf);
  }

  /** A read without a response, or with a failure of the service, compares nothing. */
  private async read(
    api: number,
    workspaceId: number,
    path: string,
    expected: string,
    valueOf: (body: Body) => string,
  ): Promise<void> {
    const { endpoint } = this;
    const { log, tally } = this.context;
    const { status, body } = await call(endpoint, { api, method: 'GET', path, workspaceId });
    if (status === undefined || status >= 500) return;
    if (status === 401 && endpoint.renewToken !== undefined) return endpoint.renewToken(api);
    const actual = status === 200 ? valueOf(JSON.parse(body) as Body) : `status ${status}`;
    await log.append({ event: 'read', check: 'reads', subject: path, api: api % 2, expected, actual });
    tally.count('reads');
  }
}

type Body = Record<string, unknown>;
interface Edges {
  readonly balances: readonly { readonly amount: number }[];
}
