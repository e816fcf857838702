import type { SentOrder } from '../client-log.js';
import type { Member } from '../cluster.js';
import { checkFinalState } from '../final-state.js';
import type { RunContext, Scenario } from '../scenario.js';
import { isRetried, sendOrder } from '../send-order.js';
import { FUNDS, Preparation } from '../world.js';

const COMMIT_WAIT_MS = 10_000;
/** Every so many rounds the process is killed after its commit; in the others it loses its connection to PostgreSQL. */
const KILL_EVERY = 10;
const ATTEMPTS_MAX = 20;

/**
 * The process that commits an order never learns that it did, and its client has no response. The client sends the same key through
 * the other process, and then again through the first one.
 */
export const lostReply: Scenario = {
  name: 'lost-reply',
  faults: ['kill-api', 'reset-at-commit'],
  phase: 'other',
  minutesMax: 3.4,
  async run(context) {
    const { cluster, prefix, tally, signal, onProgress, random } = context;
    const { endpoint } = cluster;
    const preparation = new Preparation(endpoint);
    await preparation.readProducts();
    const payer = await preparation.openAccount(1, 'EUR', FUNDS);
    const recipientId = await preparation.addRecipient(1, await preparation.openAccount(1, 'EUR', FUNDS));
    const startedAt = new Date();
    onProgress('orders whose process loses the response to its commit');
    for (let round = 1; !signal.aborted; round += 1) {
      const amount = String(random.between(1, 500));
      const order = { key: `${prefix}-${round}`, workspaceId: 1, accountId: payer.id, recipientId, amount };
      const isComplete = await playRound(context, order, round);
      tally.countOperation(isComplete);
      if (isComplete) tally.count('rounds');
    }
    await checkFinalState(context, { startedAt });
  },
};

/** @returns whether the commit was interrupted and the order acknowledged by both processes afterwards */
async function playRound(context: RunContext, order: SentOrder, round: number): Promise<boolean> {
  const { cluster, log, tally } = context;
  const { endpoint } = cluster;
  const first = round % 2;
  const member = cluster.apis[first] as Member;
  const client = new AbortController();
  const withheld = member.proxy.withhold('commit', AbortSignal.timeout(COMMIT_WAIT_MS));
  const sent = sendOrder(endpoint, log, { order, isPayout: false, attempt: 1, api: first, signal: client.signal });
  const release = await withheld;
  client.abort();
  await sent;
  if (release === undefined) return false;

  const second = await retry(context, order, 2, first + 1);
  if (round % KILL_EVERY === 0) {
    await member.process.kill();
    release();
    await member.process.start();
  } else {
    release();
  }
  const kind = round % KILL_EVERY === 0 ? 'kill-api' : 'reset-at-commit';
  await log.append({ event: 'fault', kind, target: member.process.name });
  tally.countFault(kind);
  const third = await retry(context, order, second.attempt + 1, first);
  if (!second.isOk || !third.isOk) {
    tally.addViolations([
      { check: 'outcome', detail: `${order.key} was committed, and its retries were not acknowledged` },
    ]);
  }
  return second.isOk && third.isOk;
}

/** Sends the same key until it is acknowledged or refused. */
async function retry(
  { cluster, log }: RunContext,
  order: SentOrder,
  from: number,
  api: number,
): Promise<{ readonly isOk: boolean; readonly attempt: number }> {
  const { endpoint } = cluster;
  let attempt = from;
  for (; ; attempt += 1) {
    const response = await sendOrder(endpoint, log, { order, isPayout: false, attempt, api });
    const isLast = !isRetried(response) || attempt - from >= ATTEMPTS_MAX;
    if (isLast) return { isOk: response.outcome === 'ok', attempt };
  }
}
