import { setTimeout as sleep } from 'node:timers/promises';
import { type MinorUnits, parseTransferAmount, subtract } from '@banking/domain';
import { call, type Endpoint } from '../call.js';
import type { SentOrder } from '../client-log.js';
import type { Random } from '../random.js';
import type { RunContext } from '../scenario.js';
import { isRetried, sendOrder } from '../send-order.js';
import { FUNDS, type LoadAccount, PAYOUT_AMOUNT, PAYOUT_FEE } from '../world.js';
import { isUnavailable } from './cell-clients.js';
import type { CellPair } from './crossing-world.js';
import type { Moves } from './moves.js';
import type { PlacedWorkspace } from './cells-world.js';

const GIVE_UP_MS = 120_000;
const RETRY_MS = 20;
const AMOUNTS = [1, 500] as const;
/** Of so many orders, one is a payout, and one is sent again much later. */
const PAYOUT_EACH = 8;
const REPEATED_EACH = 10;

/** What a client pays. */
interface Payment {
  readonly order: SentOrder;
  readonly isPayout: boolean;
}

/** A client that alone pays from its account, so that it knows the balance after each acknowledgement. */
export class MovingClient {
  private placed = 0;
  private balance: MinorUnits = FUNDS;
  private readonly random: Random;
  private readonly repeated: Payment[] = [];

  constructor(
    private readonly context: RunContext,
    private readonly endpoint: Endpoint,
    private readonly moves: Moves,
    private readonly own: {
      readonly account: LoadAccount;
      readonly place: PlacedWorkspace;
      readonly pairs: readonly CellPair[];
    },
    private readonly index: number,
  ) {
    this.random = context.random.fork(`client ${index}`);
  }

  /** Pays until the signal, and finishes what it has begun. Then sends earlier orders again: their keys still have their responses. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const payment = this.choose();
      if (!(await this.place(payment, 1))) continue;
      this.balance = subtract(this.balance, parseTransferAmount(payment.order.amount));
      if (payment.isPayout) this.balance = subtract(this.balance, PAYOUT_FEE);
      if (this.placed % REPEATED_EACH === 0) this.repeated.push(payment);
      for (const api of [0, 1]) await this.readBalance(api);
    }
  }

  async repeat(): Promise<void> {
    for (const payment of this.repeated) await this.place(payment, 1_000);
  }

  private choose(): Payment {
    const { random, own, context } = this;
    this.placed += 1;
    const isPayout = this.placed % PAYOUT_EACH === 0;
    const near = own.place.recipientId;
    const recipientId = isPayout
      ? own.place.payoutRecipientId
      : random.pick([near, ...own.pairs.map((pair) => pair.recipientId)]);
    const amount = String(isPayout ? PAYOUT_AMOUNT : random.between(...AMOUNTS));
    const key = `${context.prefix}-${this.index}-${this.placed}`;
    const { workspaceId, id: accountId } = own.account;
    return { order: { key, workspaceId, accountId, recipientId, amount }, isPayout };
  }

  /** Sends the order until it is acknowledged, each time to any api. @returns whether it was */
  private async place({ order, isPayout }: Payment, firstAttempt: number): Promise<boolean> {
    const { log, tally } = this.context;
    const untilMs = performance.now() + GIVE_UP_MS;
    for (let attempt = firstAttempt; ; attempt += 1) {
      const beganAt = performance.now();
      const sent = await sendOrder(this.endpoint, log, { order, isPayout, attempt, api: this.random.below(2) });
      tally.countOperation(sent.outcome === 'ok');
      if (sent.outcome === 'ok') {
        tally.count('acknowledged');
        return true;
      }
      const { status, reason, retryAfter } = sent;
      this.judgeRefusal(
        `order in ${this.own.place.cell}`,
        this.payeeOf(order),
        { status, retryAfter, error: reason, body: '' },
        beganAt,
      );
      if (!isRetried(sent) || performance.now() > untilMs) return false;
      await sleep(RETRY_MS);
    }
  }

  private payeeOf({ workspaceId, recipientId }: SentOrder): number {
    return this.own.pairs.find((pair) => pair.recipientId === recipientId)?.payee.workspaceId ?? workspaceId;
  }

  /** The balance is never an older one, whatever cell a process remembers. */
  private async readBalance(api: number): Promise<void> {
    const { log, tally } = this.context;
    const { workspaceId, id } = this.own.account;
    const path = `/accounts/${id}`;
    const beganAt = performance.now();
    const { status, body, error, headers } = await call(this.endpoint, { api, method: 'GET', path, workspaceId });
    if (status !== 200) {
      const retryAfter = headers?.['retry-after'];
      return this.judgeRefusal(
        `read in ${this.own.place.cell}`,
        workspaceId,
        { status, retryAfter, error, body },
        beganAt,
      );
    }
    const { edges } = JSON.parse(body) as { edges: { balances: { amount: number }[] } };
    const [expected, actual] = [String(this.balance), String(edges.balances[0]?.amount)];
    await log.append({ event: 'read', check: 'reads', subject: path, api, expected, actual });
    tally.count('reads');
  }

  /**
   * Only the workspace that is being moved is refused, and a payment to it from the same cell, and only with the time after which to retry.
   *
   * @param workspaceId that of the payee, or of the reader
   */
  private judgeRefusal(
    what: string,
    workspaceId: number,
    refusal: { status: number | undefined; retryAfter: string | undefined; error: string | undefined; body: string },
    beganAt: number,
  ): void {
    const isOwn = [workspaceId, this.own.account.workspaceId].includes(this.moves.workspaceId);
    const isExpected = isUnavailable({ what, ...refusal }) && isOwn && this.moves.wasMoving(beganAt, performance.now());
    if (isExpected) return;
    const { status, error, body } = refusal;
    const detail = `${what} got ${status ?? error}${isOwn ? '' : ', whose workspace was not moved'}: ${body.slice(0, 200)}`;
    this.context.tally.addViolations([{ check: 'outcome', detail }]);
  }
}

/** The longest time in which reads of a workspace got no success. */
export class Window {
  private lastServedAt = performance.now();
  /** Of the present move. */
  longestMs = 0;

  constructor(
    private readonly endpoint: Endpoint,
    private readonly account: LoadAccount,
  ) {}

  /** Reads until the signal, through both processes in turn. */
  async watch(signal: AbortSignal): Promise<void> {
    const { workspaceId, id } = this.account;
    for (let api = 0; !signal.aborted; api += 1) {
      const beganAt = performance.now();
      const { status } = await call(this.endpoint, { api, method: 'GET', path: `/accounts/${id}`, workspaceId });
      if (status === 200) {
        // From the end of the last success to the begin of the next.
        this.longestMs = Math.max(this.longestMs, beganAt - this.lastServedAt);
        this.lastServedAt = performance.now();
      }
      await sleep(RETRY_MS / 2);
    }
  }
}
