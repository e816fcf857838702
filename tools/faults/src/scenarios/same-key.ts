import { setTimeout as sleep } from 'node:timers/promises';
import { call, type Endpoint } from '../call.js';
import type { SentOrder } from '../client-log.js';
import type { Random } from '../random.js';
import { checkFinalState } from '../final-state.js';
import type { RunContext, Scenario } from '../scenario.js';
import { orderBody, sendOrder } from '../send-order.js';
import { FUNDS, Preparation } from '../world.js';

const PARALLEL = 50;
/** Of each key, other bodies that are sent after it. */
const MUTATIONS = 5;
const TRIES_MAX = 10;
const RETRY_AFTER_MS = 1_000;

/** The order of one key is sent 50 times at once through both api processes. Then other bodies are sent with the same key. */
export const sameKey: Scenario = {
  name: 'same-key',
  faults: [],
  phase: 'other',
  minutesMax: 1,
  async run(context) {
    const { cluster, prefix, tally, signal, onProgress } = context;
    const { endpoint } = cluster;
    const preparation = new Preparation(endpoint);
    await preparation.readProducts();
    const payer = await preparation.openAccount(1, 'EUR', FUNDS);
    const recipientId = await preparation.addRecipient(1, await preparation.openAccount(1, 'EUR', FUNDS));
    const otherId = await preparation.addRecipient(1, await preparation.openAccount(1, 'EUR', FUNDS));
    const startedAt = new Date();
    onProgress(`${PARALLEL} requests at once for each key`);
    for (let number = 1; !signal.aborted; number += 1) {
      const key = `${prefix}-${number}`;
      const amount = String(context.random.between(1, 500));
      const order = { key, workspaceId: 1, accountId: payer.id, recipientId, amount };
      await sendAtOnce(context, endpoint, order);
      for (let mutation = 0; mutation < MUTATIONS; mutation += 1) {
        await sendMutated(context, endpoint, order, mutated(context.random, order, otherId));
      }
      tally.count('keys');
    }
    await checkFinalState(context, { startedAt });
  },
};

async function sendAtOnce({ log, tally }: RunContext, endpoint: Endpoint, order: SentOrder): Promise<void> {
  const responses = await Promise.all(
    Array.from({ length: PARALLEL }, (_, index) =>
      sendOrder(endpoint, log, { order, isPayout: false, attempt: index + 1, api: index }),
    ),
  );
  const acknowledged = responses.filter(({ outcome }) => outcome === 'ok');
  const wrong = responses.filter(({ outcome, reason }) => outcome !== 'ok' && reason !== 'idempotency_in_progress');
  tally.countOperation(acknowledged.length > 0 && wrong.length === 0);
  tally.count('acknowledged', acknowledged.length);
  if (acknowledged.length === 0)
    tally.addViolations([{ check: 'outcome', detail: `${order.key} was never acknowledged` }]);
  for (const { status, reason } of wrong) {
    tally.addViolations([
      { check: 'outcome', detail: `${order.key} got ${status ?? ''} ${reason}, neither a replay nor a 409` },
    ]);
  }
}

/** Another body: one field differs from the order, or is added. */
function mutated(random: Random, order: SentOrder, otherId: number): object {
  const body = orderBody(order, false);
  return random.pick([
    { ...body, amount: String(random.between(1_000, 9_999)) },
    { ...body, recipientID: otherId },
    { ...body, description: `${order.key}-mutated` },
    { ...body, purposeCode: 'IR001' },
    { ...body, metadata: { mutation: String(random.below(1_000_000)) } },
    { ...body, type: 'scheduled', startAt: '2099-01-31T09:00:00Z' },
  ]);
}

async function sendMutated(
  { log, tally, random }: RunContext,
  endpoint: Endpoint,
  { key, workspaceId, accountId }: SentOrder,
  body: object,
): Promise<void> {
  const api = random.below(2);
  const path = `/accounts/${accountId}/orders`;
  // A service under load may refuse a request before it knows the key.
  let response = await call(endpoint, { api, method: 'POST', path, workspaceId, key, body });
  for (let tries = 1; response.status === 503 && tries < TRIES_MAX; tries += 1) {
    await sleep(RETRY_AFTER_MS);
    response = await call(endpoint, { api, method: 'POST', path, workspaceId, key, body });
  }
  const { status, body: text } = response;
  const reason = status === undefined ? 'no response' : String((JSON.parse(text) as { reason?: string }).reason);
  const subject = `${key} with another body`;
  const expected = '422 idempotency_key_reused';
  await log.append({ event: 'read', check: 'outcome', subject, api, expected, actual: `${status ?? ''} ${reason}` });
  tally.count('mutations');
}
