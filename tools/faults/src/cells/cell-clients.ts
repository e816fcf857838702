import { setTimeout as sleep } from 'node:timers/promises';
import { call, type Endpoint, type Received } from '../call.js';
import type { Violation } from '../check-orders.js';
import type { RunContext } from '../scenario.js';
import { sendOrder } from '../send-order.js';
import { PAYOUT_AMOUNT } from '../world.js';
import type { PlacedWorkspace } from './cells-world.js';

const AMOUNT = '101';
const POLL_MS = 100;
/** For a machine under load. */
const WAIT_MAX_MS = 120_000;

/** What a request got, as far as a check reads it. */
export interface CellResponse {
  readonly what: string;
  readonly status: number | undefined;
  readonly retryAfter: string | undefined;
  readonly error: string | undefined;
  readonly body: string;
}

/** Calls in the workspaces of all cells, with the log of the orders. */
export class CellClients {
  private placed = 0;

  constructor(
    private readonly context: RunContext,
    readonly endpoint: Endpoint,
  ) {}

  get apis(): readonly number[] {
    return this.context.cluster.apis.map((_, api) => api);
  }

  /** Pays the other account of the workspace. */
  order(place: PlacedWorkspace, api: number): Promise<CellResponse & { readonly orderId: number | undefined }> {
    return this.place(place, { api, recipientId: place.recipientId, amount: AMOUNT, isPayout: false });
  }

  /** Pays out. */
  payout(place: PlacedWorkspace, api: number): Promise<CellResponse & { readonly orderId: number | undefined }> {
    return this.place(place, {
      ...{ api, recipientId: place.payoutRecipientId, amount: String(PAYOUT_AMOUNT), isPayout: true },
    });
  }

  read({ cell, workspaceId, payer }: PlacedWorkspace, api: number): Promise<CellResponse> {
    return this.get(`read in ${cell}`, `/accounts/${payer.id}`, workspaceId, api);
  }

  /** Waits until the order is completed, which a payout is when the network has credited it. */
  async untilCompleted({ cell, workspaceId, payer }: PlacedWorkspace, orderId: number): Promise<Violation[]> {
    const path = `/accounts/${payer.id}/orders/${orderId}`;
    const isCompleted = async () => {
      const { status, body } = await this.get(`order of ${cell}`, path, workspaceId, 0);
      if (status !== 200) return false;
      const { edges } = JSON.parse(body) as { edges: { executions: { status: string }[] } };
      return edges.executions[0]?.status === 'completed';
    };
    const isDone = await until(isCompleted);
    return isDone ? [] : [{ check: 'payouts', detail: `order ${orderId} of ${cell} was not completed in time` }];
  }

  /** Opens an account, with a key of its own. */
  async openAccount({ cell, workspaceId }: PlacedWorkspace, productId: number, api: number): Promise<CellResponse> {
    this.placed += 1;
    const received = await call(this.endpoint, {
      ...{ api, method: 'POST', path: '/accounts', workspaceId, key: `${this.context.prefix}-open-${this.placed}` },
      body: { productID: productId },
    });
    return responseOf(`opening an account in ${cell}`, received);
  }

  async get(what: string, path: string, workspaceId: number, api: number): Promise<CellResponse> {
    return responseOf(what, await call(this.endpoint, { api, method: 'GET', path, workspaceId }));
  }

  private async place(
    { cell, workspaceId, payer }: PlacedWorkspace,
    wanted: { api: number; recipientId: number; amount: string; isPayout: boolean },
  ): Promise<CellResponse & { readonly orderId: number | undefined }> {
    const { log, prefix, tally } = this.context;
    this.placed += 1;
    const { api, recipientId, amount, isPayout } = wanted;
    const key = `${prefix}-${this.placed}`;
    const order = { key, workspaceId, accountId: payer.id, recipientId, amount };
    const sent = await sendOrder(this.endpoint, log, { order, isPayout, attempt: 1, api });
    tally.countOperation(sent.outcome === 'ok');
    if (sent.outcome === 'ok') tally.count('acknowledged');
    const { status, retryAfter, reason, body, orderId } = sent;
    return { what: `${isPayout ? 'payout' : 'order'} in ${cell}`, status, retryAfter, error: reason, body, orderId };
  }
}

const responseOf = (what: string, { status, headers, error, body }: Received): CellResponse => ({
  ...{ what, status, error, body },
  retryAfter: headers?.['retry-after'],
});

/** A workspace whose database answers is served. */
export function servedOrNot(responses: readonly CellResponse[]): Violation[] {
  return responses
    .filter(({ status }) => status === undefined || status >= 300)
    .map(({ what, status, error, body }) => ({
      check: 'outcome',
      detail: `${what} got ${status ?? error} while its database answered: ${body.slice(0, 200)}`,
    }));
}

/** A workspace whose database is away is refused with the time after which to retry. */
export function refusedOrNot(responses: readonly CellResponse[]): Violation[] {
  return responses
    .filter((response) => !isUnavailable(response))
    .map(({ what, status, error, retryAfter, body }) => ({
      check: 'outcome',
      detail: `${what} got ${status ?? error} and Retry-After ${retryAfter ?? 'missing'} while its database was away: ${body.slice(0, 200)}`,
    }));
}

export const isUnavailable = ({ status, retryAfter }: CellResponse): boolean =>
  status === 503 && retryAfter !== undefined && Number(retryAfter) >= 1;

export const isServed = ({ status }: CellResponse): boolean => status !== undefined && status < 300;

/** Polls. @returns whether the condition held in two minutes */
export async function until(condition: () => Promise<boolean>): Promise<boolean> {
  const untilMs = performance.now() + WAIT_MAX_MS;
  while (performance.now() < untilMs) {
    if (await condition()) return true;
    await sleep(POLL_MS);
  }
  return false;
}
