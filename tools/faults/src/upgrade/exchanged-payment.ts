import { setTimeout as pause } from 'node:timers/promises';
import { call, type Endpoint } from '../call.js';
import { WORKSPACE } from './calls-meanwhile.js';
import { PAYOUT_AMOUNT, Preparation } from '../world.js';
import { minorUnits } from '@banking/domain';

const DONE_MS = 300_000;
const FUNDS = minorUnits(1_000_000n);

interface Order {
  readonly id: number;
  readonly edges: { readonly executions?: readonly { readonly status: string }[] };
}

/**
 * Places a payment abroad by the first api, and waits until the running worker has carried it out, as the second api reports it.
 * Sends the same request with the same key to the second api, as a client does whose first call was lost.
 *
 * @returns what differs from one service, or nothing
 */
export async function exchangePayment(endpoint: Endpoint, key: string): Promise<string | undefined> {
  const preparation = new Preparation(endpoint);
  await preparation.readProducts();
  const account = await preparation.openAccount(WORKSPACE, 'EUR', FUNDS);
  const recipientID = await preparation.addPayoutRecipient(WORKSPACE);
  const body = { amount: String(PAYOUT_AMOUNT), recipientID, type: 'instant', purposeCode: 'IR001' };
  const path = `/accounts/${account.id}/orders`;
  const order = { method: 'POST', path, workspaceId: WORKSPACE, key, body } as const;
  const placed = await call(endpoint, { api: 0, ...order });
  if (placed.status === undefined || placed.status >= 300)
    return `the order was refused with ${placed.status ?? placed.error}: ${placed.body.slice(0, 300)}`;
  const repeated = await call(endpoint, { api: 1, ...order });
  if (repeated.body !== placed.body) return `the response to the same key differs: status ${repeated.status}`;
  const { id } = JSON.parse(placed.body) as Order;
  const until = Date.now() + DONE_MS;
  for (;;) {
    const read = await call(endpoint, { api: 1, method: 'GET', path: `${path}/${id}`, workspaceId: WORKSPACE });
    if (read.status !== 200) return `the order could not be read: status ${read.status}`;
    const [status] = (JSON.parse(read.body) as Order).edges.executions?.map((execution) => execution.status) ?? [];
    if (status === 'completed') return undefined;
    if (status === 'failed') return 'the payment failed';
    if (Date.now() > until) return `the payment is ${status} after five minutes`;
    await pause(250);
  }
}
