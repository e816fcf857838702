import { setTimeout as pause } from 'node:timers/promises';
import { call, type Endpoint } from '../call.js';

const PAUSE_MS = 20;
/** Not the one in whose demo data the contract suite looks for gaps. */
export const WORKSPACE = 2;

/** Requests of a client while something else happens. */
export interface CallsMeanwhile {
  readonly calls: number;
  /** The first response that was no success. */
  readonly failure: string | undefined;
  readonly longestMs: number;
}

/** Reads a page and places an order within the service by turns, until the work is done. */
export async function callMeanwhile(
  endpoint: Endpoint,
  order: { readonly accountId: number; readonly recipientID: number },
  work: () => Promise<void>,
): Promise<CallsMeanwhile> {
  let isDone = false;
  const done = work().finally(() => (isDone = true));
  const result = { calls: 0, failure: undefined as string | undefined, longestMs: 0 };
  const path = `/accounts/${order.accountId}/orders`;
  const body = { amount: '1', recipientID: order.recipientID, type: 'instant' };
  for (let turn = 0; !isDone; turn += 1) {
    const isOrder = turn % 2 === 0;
    const options = isOrder
      ? ({ method: 'POST', path, body } as const)
      : ({ method: 'GET', path: '/transfers' } as const);
    const key = isOrder ? { key: `meanwhile-${process.pid}-${order.accountId}-${turn}` } : {};
    const { status, error, ms } = await call(endpoint, { api: turn >> 1, workspaceId: WORKSPACE, ...options, ...key });
    result.calls += 1;
    result.longestMs = Math.max(result.longestMs, ms);
    if (status === undefined || status >= 300)
      result.failure ??= `${options.method} ${options.path}: ${status ?? error}`;
    await pause(PAUSE_MS);
  }
  await done;
  return result;
}
