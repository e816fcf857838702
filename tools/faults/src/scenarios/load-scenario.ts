import { setTimeout as sleep } from 'node:timers/promises';
import { minorUnits } from '@banking/domain';
import type { CallOptions, Received } from '../call.js';
import type { SentOrder } from '../client-log.js';
import type { ClusterOptions } from '../cluster.js';
import { injectFaults } from '../inject.js';
import { runLoad } from '../load.js';
import { checkFinalState } from '../final-state.js';
import type { Phase, RunContext, Scenario } from '../scenario.js';
import { type FaultTimes, planFaults, type PlannedKind } from '../schedule.js';
import { watchMoney } from '../check-books.js';
import { EventReader } from '../check-events.js';
import { checkDeadlocks, countDeadlocks } from '../check-deadlocks.js';
import { plantCanaries } from '../plant-canaries.js';
import { growthOf, type ResourceSample, sampleResources } from '../process-resources.js';
import { type LoadAccount, makeWorld, PAYOUT_FEE } from '../world.js';

/** Accounts of each currency, and clients. */
const POOL = 20;
const CLIENTS = 16;

export interface LoadScenarioOptions {
  readonly name: string;
  readonly faults: readonly PlannedKind[];
  readonly times?: FaultTimes;
  readonly phase: Phase;
  readonly minutesMax: number;
  readonly pool?: number;
  readonly cluster?: ClusterOptions;
  readonly missing?: () => string | undefined;
  /** Whether every response must arrive in the time that the service promises. No process is killed or paused then. */
  readonly isBounded?: boolean;
  /** Whether each client waits between two orders as long as an order takes, and memory and open files are measured. */
  readonly isSoak?: boolean;
}

const TIMES: FaultTimes = { afterMs: [200, 3_000], lastsMs: [500, 4_000] };

/** Clients place orders and read them back, a reader sums all balances, and faults are injected meanwhile. */
export function loadScenario({
  name,
  faults,
  times = TIMES,
  phase,
  minutesMax,
  pool = POOL,
  cluster: clusterOptions,
  missing,
  isBounded = false,
  isSoak = false,
}: LoadScenarioOptions): Scenario {
  return {
    name,
    faults,
    phase,
    minutesMax,
    ...(clusterOptions && { cluster: clusterOptions }),
    ...(missing && { missing }),
    async run(context) {
      const { cluster, log, random, prefix, tally, signal, onProgress } = context;
      onProgress(`opening ${3 * pool + CLIENTS} accounts`);
      const endpoint = isBounded ? { ...cluster.endpoint, onReceived: boundOf(context) } : cluster.endpoint;
      const world = await makeWorld(endpoint, { pool, owned: CLIENTS });
      const startedAt = new Date();
      onProgress(`${CLIENTS} clients${faults.length === 0 ? '' : `, faults: ${faults.join(', ')}`}`);
      const deadlocks = await countDeadlocks(cluster);
      const events = new EventReader(cluster.database);
      const plan = faults.length === 0 ? [] : planFaults(random.fork('faults'), faults, times);
      const [money, samples] = await Promise.all([
        watchMoney(cluster.database, signal, () => tally.count('snapshots')),
        isSoak ? watchResources(context) : [],
        events.follow(signal, (count) => tally.count('events', count)),
        injectFaults(cluster, plan, log, signal, {
          onFault: (kind) => tally.countFault(kind),
          report: (violations) => tally.addViolations(violations),
        }),
        runLoad({
          endpoint,
          world,
          log,
          random,
          prefix,
          signal,
          ...counting(context),
          ...(isSoak && { isHalf: true }),
          ...(clusterOptions?.hasReplica === true && { readsLists: true }),
        }),
      ]);
      tally.addViolations(money.violations);
      if (isSoak) judgeGrowth(context, samples);
      if (faults.length === 0) {
        tally.addViolations(await checkDeadlocks(cluster, deadlocks));
        tally.addViolations(await plantCanaries(endpoint, world.pool[0] as LoadAccount));
      }
      const feeOf = ({ recipientId, workspaceId }: SentOrder) =>
        recipientId === world.payoutRecipient(workspaceId) ? PAYOUT_FEE : minorUnits(0n);
      await checkFinalState(context, { owned: world.owned, startedAt, feeOf, check: () => events.compare() });
    },
  };
}

/** The service responds within 15 seconds, checked every second; the rest is for a machine that is busy. */
const RESPONSE_MS = 17_000;

function boundOf({ tally }: RunContext) {
  return ({ status, error, ms }: Received, { method, path }: CallOptions) => {
    if (status === 500) {
      tally.addViolations([{ check: 'outcome', detail: `${method} ${path} got 500` }]);
    }
    if (status !== undefined && ms <= RESPONSE_MS) return;
    const detail = `${method} ${path} got ${status ?? error} after ${Math.round(ms)} ms`;
    tally.addViolations([{ check: 'response-time', detail }]);
  };
}

const SAMPLE_MS = 10_000;

/** Samples of all processes until the signal. */
async function watchResources({ cluster, signal, tally }: RunContext): Promise<ResourceSample[]> {
  const samples: ResourceSample[] = [];
  const beganAt = Date.now();
  let minutes = 0;
  while (!signal.aborted) {
    samples.push(...sampleResources(cluster, Date.now() - beganAt));
    await sleep(SAMPLE_MS, undefined, { signal }).catch(() => undefined);
    for (; minutes < Math.floor((Date.now() - beganAt) / 60_000); minutes += 1) tally.count('minutes');
  }
  return samples;
}

function judgeGrowth({ tally }: RunContext, samples: readonly ResourceSample[]): void {
  const { measured, violations } = growthOf(samples);
  tally.addViolations(violations);
  if (measured === 0) tally.doubt('no process ran long enough to measure its growth');
}

function counting({ tally }: RunContext) {
  return {
    onOrder: (outcome: string, isQuad: boolean) => {
      if (outcome === 'ok' && isQuad) tally.count('quads');
      tally.countOperation(outcome === 'ok');
      if (outcome === 'ok') tally.count('acknowledged');
    },
    onRead: () => tally.count('reads'),
  };
}
