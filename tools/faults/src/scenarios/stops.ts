import { setTimeout as sleep } from 'node:timers/promises';
import { BalancedClient } from '../balanced-client.js';
import type { Member } from '../cluster.js';
import { checkFinalState } from '../final-state.js';
import type { RunContext, Scenario } from '../scenario.js';
import { sendOrder } from '../send-order.js';
import { FUNDS, type LoadAccount, Preparation } from '../world.js';

const PER_SECOND = 100;
const TICK_MS = 20;
const EXIT_WITHIN_MS = 10_000;
/** Of ten requests, so many are orders; the others are reads. */
const ORDERS = 3;
const BETWEEN_MS = 500;

/**
 * The api processes are stopped in turn with SIGTERM, while a load balancer sends 100 requests a second over connections that stay open.
 * Every request that was sent to a process must get its response, and the process must end by itself with exit code 0.
 */
export const stops: Scenario = {
  name: 'stops',
  faults: ['sigterm-api'],
  phase: 'alone',
  minutesMax: 2.2,
  async run(context) {
    const { cluster, signal, onProgress } = context;
    const preparation = new Preparation(cluster.endpoint);
    await preparation.readProducts();
    const payer = await preparation.openAccount(1, 'EUR', FUNDS);
    const recipientId = await preparation.addRecipient(1, await preparation.openAccount(1, 'EUR', FUNDS));
    const startedAt = new Date();
    onProgress(`SIGTERM to the api processes in turn, under ${PER_SECOND} requests a second`);
    const balancer = new BalancedClient(cluster);
    const ended = new AbortController();
    const sending = [balancer.watch(ended.signal), sendEvenly(context, balancer, payer, recipientId, ended.signal)];
    try {
      for (let round = 0; !signal.aborted; round += 1) await stopOne(context, cluster.apis[round % 2] as Member);
    } finally {
      ended.abort();
      await Promise.all(sending);
    }
    await checkFinalState(context, { startedAt });
  },
};

async function stopOne({ log, tally, signal }: RunContext, { process }: Member): Promise<void> {
  await sleep(BETWEEN_MS, undefined, { signal }).catch(() => undefined);
  if (signal.aborted) return;
  const { code, ms } = await process.terminate();
  await log.append({ event: 'fault', kind: 'sigterm-api', target: process.name });
  tally.countFault('sigterm-api');
  tally.count('stops');
  if (code !== 0) tally.addViolations([{ check: 'stops', detail: `${process.name} ended with ${code} after SIGTERM` }]);
  if (ms > EXIT_WITHIN_MS) tally.addViolations([{ check: 'stops', detail: `${process.name} took ${ms} ms to stop` }]);
  await process.start();
}

/** Sends at an even rate, whatever the responses take. */
async function sendEvenly(
  context: RunContext,
  balancer: BalancedClient,
  payer: LoadAccount,
  recipientId: number,
  signal: AbortSignal,
): Promise<void> {
  const open = new Set<Promise<void>>();
  const beganAt = Date.now();
  let sent = 0;
  while (!signal.aborted) {
    const due = Math.floor(((Date.now() - beganAt) * PER_SECOND) / 1_000);
    // After a pause of this process, the requests are not sent all at once.
    for (sent = Math.max(sent, due - PER_SECOND); sent < due; sent += 1) {
      const one = sendOne(context, balancer, { payer, recipientId, number: sent }).finally(() => open.delete(one));
      open.add(one);
    }
    await sleep(TICK_MS, undefined, { signal }).catch(() => undefined);
  }
  await Promise.all(open);
}

async function sendOne(
  { cluster, log, prefix, tally }: RunContext,
  balancer: BalancedClient,
  {
    payer,
    recipientId,
    number,
  }: { readonly payer: LoadAccount; readonly recipientId: number; readonly number: number },
): Promise<void> {
  const api = balancer.choose();
  if (api === undefined) return;
  const isOrder = number % 10 < ORDERS;
  let failure: string | undefined;
  let isUnavailable: boolean;
  if (isOrder) {
    const order = { key: `${prefix}-${number + 1}`, workspaceId: 1, accountId: payer.id, recipientId, amount: '5' };
    const { status, reason, outcome, retryAfter } = await sendOrder(cluster.endpoint, log, {
      order,
      isPayout: false,
      attempt: 1,
      api,
    });
    if (outcome === 'ok') tally.count('acknowledged');
    else failure = `${status ?? ''} ${reason}`;
    isUnavailable = status === 503 && retryAfter !== undefined;
  } else {
    const { status, headers, error } = await balancer.get(api, `/accounts/${payer.id}`);
    if (status !== 200) failure = String(status ?? error);
    isUnavailable = status === 503 && headers?.['retry-after'] !== undefined;
  }
  tally.countOperation(failure === undefined);
  tally.count('requests');
  // A process under load responds with 503 and a time after which to retry. That is a response, and nothing was done.
  if (failure === undefined || isUnavailable) return;
  const detail = `${isOrder ? 'an order' : 'a read'} through api-${api} got ${failure}, while processes were stopped`;
  tally.addViolations([{ check: 'stops', detail }]);
}
