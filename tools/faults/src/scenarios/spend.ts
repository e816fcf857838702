import { add, minorUnits } from '@banking/domain';
import { sendOrder } from '../send-order.js';
import { checkFinalState } from '../final-state.js';
import type { RunContext, Scenario } from '../scenario.js';
import { watchMoney } from '../check-books.js';
import { PAYOUT_FEE, Preparation } from '../world.js';

const CLIENTS = 32;
/** 1,000.00 and 400.00 EUR: with the fee of a payout too, the third order finds less than it needs. */
const FUNDED = minorUnits(100_000n);
const AMOUNT = minorUnits(40_000n);
const SUCCESSES = 2;

/**
 * 32 clients spend one account at the same time. Every second round they pay abroad: that money is debited at once and on hold until
 * the network has it.
 */
export const spend: Scenario = {
  name: 'spend',
  faults: [],
  phase: 'other',
  minutesMax: 4,
  async run(context) {
    const { cluster, prefix, tally, signal, onProgress } = context;
    const { endpoint } = cluster;
    const preparation = new Preparation(endpoint);
    await preparation.readProducts();
    const payer = await preparation.openAccount(1, 'EUR', FUNDED);
    const payee = await preparation.openAccount(1, 'EUR', FUNDED);
    const recipients = [await preparation.addRecipient(1, payee), await preparation.addPayoutRecipient(1)];
    const startedAt = new Date();
    onProgress(`${CLIENTS} clients spend one account`);
    const watching = new AbortController();
    const watched = watchMoney(cluster.database, watching.signal, () => tally.count('snapshots'));
    try {
      for (let round = 1; !signal.aborted; round += 1) {
        const isPayout = round % 2 === 0;
        const order = { workspaceId: 1, accountId: payer.id, recipientId: recipients[isPayout ? 1 : 0] as number };
        await playRound(context, { ...order, key: `${prefix}-${round}`, isPayout });
        const spent = add(AMOUNT, isPayout ? PAYOUT_FEE : minorUnits(0n));
        for (let success = 0; success < SUCCESSES; success += 1) await preparation.fund(payer, spent);
      }
    } finally {
      watching.abort();
      tally.addViolations((await watched).violations);
    }
    await checkFinalState(context, { startedAt });
  },
};

interface Round {
  readonly key: string;
  readonly workspaceId: number;
  readonly accountId: number;
  readonly recipientId: number;
  readonly isPayout: boolean;
}

async function playRound({ cluster, log, tally }: RunContext, { key, isPayout, ...payment }: Round): Promise<void> {
  const { endpoint } = cluster;
  const responses = await Promise.all(
    Array.from({ length: CLIENTS }, (_, client) => {
      const order = { ...payment, key: `${key}-${client}`, amount: String(AMOUNT) };
      return sendOrder(endpoint, log, { order, isPayout, attempt: 1, api: client });
    }),
  );
  const successes = responses.filter(({ outcome }) => outcome === 'ok').length;
  const others = responses.filter(({ outcome, reason }) => outcome !== 'ok' && reason !== 'insufficient_funds');
  const isExpected = successes === SUCCESSES && others.length === 0;
  tally.countOperation(isExpected);
  tally.count('rounds');
  tally.count('acknowledged', successes);
  if (isExpected) return;
  const reasons = others.map(({ status, reason }) => `${status ?? ''} ${reason}`);
  const detail = `round ${key} had ${successes} successes and not ${SUCCESSES}, and ${reasons.join(', ') || 'no other failure'}`;
  tally.addViolations([{ check: 'outcome', detail }]);
}
