import { setTimeout as sleep } from 'node:timers/promises';
import type { Member } from '../cluster.js';
import { checkFinalState } from '../final-state.js';
import type { RunContext, Scenario } from '../scenario.js';
import { sendOrder } from '../send-order.js';
import { FUNDS, PAYOUT_AMOUNT, Preparation } from '../world.js';

const SUBMISSION_WAIT_MS = 20_000;

/**
 * A worker hands a payout to the network and is killed before it can record that. The other worker, or the same one after its restart,
 * takes the payout over when the lease has ended.
 */
export const payoutCrash: Scenario = {
  name: 'payout-crash',
  faults: ['kill-worker'],
  phase: 'other',
  minutesMax: 3.5,
  async run(context) {
    const { cluster, signal, onProgress } = context;
    const { endpoint } = cluster;
    const preparation = new Preparation(endpoint);
    await preparation.readProducts();
    const payer = await preparation.openAccount(1, 'EUR', FUNDS);
    const recipientId = await preparation.addPayoutRecipient(1);
    const startedAt = new Date();
    onProgress('workers that are killed between sending a payout and recording it');
    const state = { number: 0 };
    for (let kill = 0; !signal.aborted; kill += 1) {
      const member = cluster.workers[kill % cluster.workers.length] as Member;
      await killAtSubmission(context, member, () => pay(context, { accountId: payer.id, recipientId }, state));
    }
    await checkFinalState(context, { startedAt });
  },
};

/** Pays until the worker submits one of the payouts, and kills it then. A worker that submits none in time is left alone. */
async function killAtSubmission(
  { log, tally }: RunContext,
  { proxy, process }: Member,
  pay: () => Promise<void>,
): Promise<void> {
  const wait = AbortSignal.timeout(SUBMISSION_WAIT_MS);
  let isOver = false;
  const submitted = proxy.withhold('sandbox_submit', wait).finally(() => (isOver = true));
  while (!isOver) {
    await pay();
    await sleep(100);
  }
  const release = await submitted;
  if (release === undefined) return;
  await process.kill();
  release();
  await process.start();
  await log.append({ event: 'fault', kind: 'kill-worker', target: process.name });
  tally.countFault('kill-worker');
}

async function pay(
  { cluster, log, prefix, tally }: RunContext,
  payment: { readonly accountId: number; readonly recipientId: number },
  state: { number: number },
): Promise<void> {
  const { endpoint } = cluster;
  state.number += 1;
  const key = `${prefix}-${state.number}`;
  const order = { ...payment, key, workspaceId: 1, amount: String(PAYOUT_AMOUNT) };
  const { outcome } = await sendOrder(endpoint, log, { order, isPayout: true, attempt: 1, api: state.number });
  tally.countOperation(outcome === 'ok');
  if (outcome === 'ok') tally.count('acknowledged');
}
