import { setTimeout as sleep } from 'node:timers/promises';
import { CROSSING_FAULTS, type CrossingFault } from '../cells/cell-fault-kinds.js';
import { untilStopped } from '../cells/check-stops.js';
import { checkCrossings, readCredits } from '../cells/check-crossings.js';
import { endpointOfAll } from '../cells/cells-world.js';
import { type CellPair, makeCrossingWorld } from '../cells/crossing-world.js';
import type { Endpoint } from '../call.js';
import type { Member } from '../cluster.js';
import type { CutTime } from '../database-proxy.js';
import { checkFinalState } from '../final-state.js';
import type { RunContext, Scenario } from '../scenario.js';
import { sendOrder } from '../send-order.js';
import { expireLeases } from '../work-trace.js';

const STATEMENT_WAIT_MS = 20_000;
const PAUSE_MS = 50;
/** Of so many payments, one is to a closed account. */
const CLOSED_EACH = 3;
/** Minor units. */
const AMOUNTS = [1, 500] as const;

/** Where a payment between cells is interrupted: a statement of the worker, by the side of the payment whose database gets it. */
const POINTS = [
  ['kill-worker-at-arrival', 'to', 'insert_arrivals', 'before'],
  ['kill-worker-at-arrival', 'to', 'insert_arrivals', 'after'],
  ['kill-worker-at-outcome', 'from', 'step_crossings', 'before'],
  ['kill-worker-at-outcome', 'from', 'step_crossings', 'after'],
  ['kill-payee-cell', 'to', 'insert_arrivals', 'before'],
  ['kill-payee-cell', 'to', 'insert_arrivals', 'after'],
] as const satisfies readonly (readonly [CrossingFault, 'from' | 'to', string, CutTime])[];
type Point = (typeof POINTS)[number];

/**
 * Payments between all cells, while a worker or the server of the payee is killed before and after each write. Every payment arrives once,
 * or comes back once from an account that is closed.
 */
export const crossingCrash: Scenario = {
  name: 'crossing-crash',
  faults: CROSSING_FAULTS,
  phase: 'other',
  minutesMax: 9,
  cluster: { hasCells: true },
  async run(context) {
    const { cluster, prefix, signal, tally, onProgress } = context;
    const endpoint = await endpointOfAll(cluster);
    const { pairs } = await makeCrossingWorld(cluster, endpoint);
    const startedAt = new Date();
    onProgress('workers and servers that are killed before and after each write of a payment');
    const payments = new Payments(context, endpoint, pairs);
    // A worker that has found a difference stops payouts, and is not ready any more.
    const stopped = untilStopped(cluster.databases, signal).then((findings) => tally.addViolations(findings));
    for (let round = 0; !signal.aborted; round += 1) {
      // The payments of every point come from each cell to each other one.
      const open = pairs.filter(({ isClosed }) => !isClosed);
      const pair = open[(round + Math.floor(round / POINTS.length)) % open.length]!;
      const interrupted = interrupt(context, payments, POINTS[round % POINTS.length]!, pair);
      interrupted.catch(() => undefined);
      await Promise.race([interrupted, stopped]);
      // Only a stop ends the scenario before the interruption ends. What is started then has no final state.
      if (tally.violations.length > 0) return;
    }
    await stopped;
    // The claims of killed workers.
    for (const database of cluster.databases) await expireLeases(database);
    await checkFinalState(context, {
      startedAt,
      check: async (operations, books) => {
        const booked = new Set(books.orders.map(({ key }) => key));
        return checkCrossings(operations, booked, await readCredits(cluster.databases, prefix), pairs);
      },
    });
  },
};

/** Pays until a worker sends the statement, and kills the process or the server then. A worker that sends none in time is left alone. */
async function interrupt(context: RunContext, payments: Payments, point: Point, pair: CellPair): Promise<void> {
  const { cluster, log, random, tally } = context;
  const [kind, side, statement, when] = point;
  const { process } = random.pick(cluster.workers) as Member;
  const wait = AbortSignal.timeout(STATEMENT_WAIT_MS);
  let isOver = false;
  const proxy = cluster.cells.proxyOf(process.name, pair[side]);
  const withheld = proxy.withhold(statement, wait, when).finally(() => (isOver = true));
  while (!isOver) {
    await payments.pay(pair);
    await sleep(PAUSE_MS);
  }
  const release = await withheld;
  if (release === undefined) return;
  if (kind === 'kill-payee-cell') {
    await cluster.cells.of(pair.to).endPostmaster('SIGKILL');
    release();
  } else {
    await process.kill();
    release();
    await process.start();
  }
  await log.append({ event: 'fault', kind, target: `${process.name}, ${when} ${statement}` });
  tally.countFault(kind);
}

/** Pays between cells, in turn to accounts that are open and closed. */
class Payments {
  private placed = 0;

  constructor(
    private readonly context: RunContext,
    private readonly endpoint: Endpoint,
    private readonly pairs: readonly CellPair[],
  ) {}

  async pay({ from, to }: CellPair): Promise<void> {
    const { log, prefix, random, tally } = this.context;
    this.placed += 1;
    const isClosed = this.placed % CLOSED_EACH === 0;
    const { payer, recipientId } = this.pairs.find(
      (pair) => pair.from === from && pair.to === to && pair.isClosed === isClosed,
    )!;
    const order = {
      ...{ key: `${prefix}-${this.placed}`, workspaceId: payer.workspaceId, accountId: payer.id, recipientId },
      amount: String(random.between(...AMOUNTS)),
    };
    const attempt = { order, isPayout: false, attempt: 1, api: this.placed };
    const { outcome } = await sendOrder(this.endpoint, log, attempt);
    tally.countOperation(outcome === 'ok');
    if (outcome === 'ok') tally.count('acknowledged');
  }
}
