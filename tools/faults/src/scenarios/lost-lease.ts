import { setTimeout as sleep } from 'node:timers/promises';
import type { Member } from '../cluster.js';
import { checkFinalState } from '../final-state.js';
import type { RunContext, Scenario } from '../scenario.js';
import { sendOrder } from '../send-order.js';
import { WorkTrace } from '../work-trace.js';
import { FUNDS, PAYOUT_AMOUNT, Preparation } from '../world.js';

const PAYOUTS = 3;
const WAIT_MS = 30_000;

/** A payment that the network has, by the fence of its payout: it was handed over by a later claim. */
const TAKEN_OVER = `
  select count(*)::int as count from banking.payout p
  join banking.work w on w.kind = 'payout' and (w.workspace_id, w.subject_id) = (p.workspace_id, p.transaction_id)
  where p.status in ('submitted', 'settled') and p.fence > 1 and p.created_at > $1`;

/**
 * A worker has sent a payout to the network and is paused before it receives the response. Its leases end, and the other worker takes
 * the payouts over. Then the first worker goes on, with a response that it may no longer record.
 *
 * A lease lasts 30 seconds. The scenario ends it in the database, as if that time had passed.
 */
export const lostLease: Scenario = {
  name: 'lost-lease',
  faults: ['lease-expired'],
  phase: 'other',
  minutesMax: 3,
  async run(context) {
    const { cluster, signal, tally, onProgress } = context;
    const preparation = new Preparation(cluster.endpoint);
    await preparation.readProducts();
    const payer = await preparation.openAccount(1, 'EUR', FUNDS);
    const recipientId = await preparation.addPayoutRecipient(1);
    const trace = await WorkTrace.install(cluster.database);
    const startedAt = new Date();
    onProgress('workers that lose their leases while they are paused');
    const payment = { accountId: payer.id, recipientId };
    for (let round = 0; !signal.aborted; round += 1) {
      const isTakenOver = await playRound(context, trace, payment, round);
      tally.countOperation(isTakenOver);
      if (!isTakenOver) continue;
      tally.count('takeovers');
      tally.countFault('lease-expired');
    }
    await checkFinalState(context, { startedAt });
    tally.addViolations(await trace.foreignChanges());
    await trace.remove();
  },
};

/** @returns whether the other worker took over what the paused one had sent */
async function playRound(
  context: RunContext,
  trace: WorkTrace,
  payment: { readonly accountId: number; readonly recipientId: number },
  round: number,
): Promise<boolean> {
  const { cluster, log } = context;
  const [paused, other] = [round % 2, (round + 1) % 2].map((index) => cluster.workers[index] as Member);
  if (paused === undefined || other === undefined) return false;
  const roundAt = new Date();
  other.process.pause();
  // It may hold leases of an earlier round, which its first round trip would use.
  await trace.expireLeases();
  const held = paused.proxy.holdBack('sandbox_submit', AbortSignal.timeout(WAIT_MS));
  await pay(context, payment, round);
  const deliver = await held;
  if (deliver === undefined) {
    other.process.resume();
    return false;
  }
  paused.process.pause();
  deliver();
  await trace.expireLeases();
  other.process.resume();
  const isTakenOver = await until(context, async () => (await countTakenOver(context, roundAt)) > 0);
  paused.process.resume();
  await log.append({ event: 'fault', kind: 'lease-expired', target: paused.process.name });
  return isTakenOver;
}

async function countTakenOver({ cluster }: RunContext, since: Date): Promise<number> {
  return (await cluster.database.query<{ count: number }>(TAKEN_OVER, [since]))[0]?.count ?? 0;
}

async function until({ signal }: RunContext, condition: () => Promise<boolean>): Promise<boolean> {
  const end = Date.now() + WAIT_MS;
  while (Date.now() < end) {
    if (await condition()) return true;
    await sleep(signal.aborted ? 100 : 30);
  }
  return false;
}

async function pay(
  { cluster, log, prefix, tally }: RunContext,
  payment: { readonly accountId: number; readonly recipientId: number },
  round: number,
): Promise<void> {
  const orders = Array.from({ length: PAYOUTS }, (_, index) => ({
    ...{ ...payment, key: `${prefix}-${round * PAYOUTS + index + 1}`, workspaceId: 1, amount: String(PAYOUT_AMOUNT) },
  }));
  const responses = await Promise.all(
    orders.map((order, api) => sendOrder(cluster.endpoint, log, { order, isPayout: true, attempt: 1, api })),
  );
  tally.count('acknowledged', responses.filter(({ outcome }) => outcome === 'ok').length);
}
