import { setTimeout as sleep } from 'node:timers/promises';
import { checkFinalState } from '../final-state.js';
import type { RunContext, Scenario } from '../scenario.js';
import { sendOrder } from '../send-order.js';
import { FUNDS, PAYOUT_AMOUNT, PAYOUT_FEE, Preparation } from '../world.js';

const GOOD = 1_980;
const POISON = 20;
const GOOD_LEAST = 100;
const CLIENTS = 16;
const SLOWER_MAX = 1.2;
const DRAIN_MS = 300_000;
/** The network of the sandbox cannot be reached for this account. */
const UNREACHABLE = 'DE45370400440532019030';

/** Payouts that the network does not have yet. Those that always fail stay so. */
const WAITING = `select count(*)::int as count from payout where status in ('due', 'submitting', 'parked') and created_at > $1`;
const PARKED = `
  select count(*)::int as count from payout p
  join work w on w.kind = 'payout' and (w.workspace_id, w.subject_id) = (p.workspace_id, p.transaction_id)
  where p.status = 'parked' and w.parked_at is not null and w.tries >= 10 and w.reason <> '' and p.reason <> '' and p.created_at > $1`;
/** A failed payout is tried again after minutes. The time passes at once here. */
const RETRY_NOW = `update work set due_at = clock_timestamp() where kind = 'payout' and tries > 0 and parked_at is null and leased_until is null`;

/** Payouts that always fail wait among others. The others must not take longer for them, and the failing ones are parked. */
export const poison: Scenario = {
  name: 'poison',
  faults: ['poison'],
  phase: 'alone',
  minutesMax: 2.5,
  async run(context) {
    const { cluster, tally, limitMs, onProgress } = context;
    const preparation = new Preparation(cluster.endpoint);
    await preparation.readProducts();
    const payer = await preparation.openAccount(1, 'EUR', FUNDS);
    const good = await preparation.addPayoutRecipient(1);
    const failing = await preparation.addPayoutRecipient(1, UNREACHABLE);
    const startedAt = new Date();
    const count = Math.max(GOOD_LEAST, Math.min(GOOD, Math.round((limitMs / 120_000) * GOOD)));
    const goods = Array.from({ length: count }, () => good);
    onProgress(`${count} payouts, and then as many with ${POISON} that always fail`);
    const state = { number: 0 };
    const clean = await drain(context, payer.id, goods, 0, state);
    onProgress(`${count} payouts were sent in ${clean} ms`);
    const poisonedAt = new Date();
    const mixed = spread(goods, failing);
    const poisoned = await drain(context, payer.id, mixed, POISON, state);
    onProgress(`${count} payouts among ${POISON} that fail were sent in ${poisoned} ms`);
    tally.countFault('poison');
    tally.count('payouts', count);
    if (count < GOOD) tally.doubt('fewer payouts say nothing about the time');
    else if (poisoned > SLOWER_MAX * clean) {
      const detail = `${count} payouts took ${clean} ms alone, and ${poisoned} ms among ${POISON} that fail`;
      tally.addViolations([{ check: 'poison', detail }]);
    }
    await park(context, poisonedAt);
    await checkFinalState(context, { owned: [payer], startedAt, feeOf: () => PAYOUT_FEE });
  },
};

/** The failing ones at even distances. */
function spread(goods: readonly number[], failing: number): number[] {
  const every = Math.floor(goods.length / POISON);
  return goods.flatMap((good, index) => (index % every === 0 && index / every < POISON ? [failing, good] : [good]));
}

/** Places payouts while the workers are paused. @returns how long the workers take for them */
async function drain(
  context: RunContext,
  accountId: number,
  recipients: readonly number[],
  failing: number,
  state: { number: number },
): Promise<number> {
  const { cluster } = context;
  const since = new Date();
  for (const { process } of cluster.workers) process.pause();
  await place(context, accountId, recipients, state);
  const beganAt = Date.now();
  for (const { process } of cluster.workers) process.resume();
  const until = beganAt + DRAIN_MS;
  while ((await count(context, WAITING, since)) > failing) {
    if (Date.now() > until) throw new Error('the payouts were not sent in time');
    await sleep(50);
  }
  return Date.now() - beganAt;
}

async function place(
  { cluster, log, prefix, tally }: RunContext,
  accountId: number,
  recipients: readonly number[],
  state: { number: number },
): Promise<void> {
  const left = [...recipients];
  const client = async () => {
    for (let recipientId = left.pop(); recipientId !== undefined; recipientId = left.pop()) {
      state.number += 1;
      const key = `${prefix}-${state.number}`;
      const order = { key, workspaceId: 1, accountId, recipientId, amount: String(PAYOUT_AMOUNT) };
      const attempt = { order, isPayout: true, attempt: 1, api: state.number };
      const { outcome } = await sendOrder(cluster.endpoint, log, attempt);
      tally.countOperation(outcome === 'ok');
      if (outcome === 'ok') tally.count('acknowledged');
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
}

async function park(context: RunContext, since: Date): Promise<void> {
  const { cluster, tally } = context;
  const until = Date.now() + DRAIN_MS;
  let parked = await count(context, PARKED, since);
  while (parked < POISON && Date.now() < until) {
    await cluster.database.query(RETRY_NOW);
    await sleep(200);
    parked = await count(context, PARKED, since);
  }
  tally.count('parked', parked);
  if (parked < POISON) {
    tally.addViolations([
      { check: 'poison', detail: `${parked} of ${POISON} failing payouts were parked with a reason` },
    ]);
  }
}

async function count({ cluster }: RunContext, sql: string, since: Date): Promise<number> {
  return (await cluster.database.query<{ count: number }>(sql, [since]))[0]?.count ?? 0;
}
