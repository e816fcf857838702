import { minorUnits } from '@banking/domain';
import type { SentOrder } from '../client-log.js';
import { injectFaults } from '../inject.js';
import { runLoad } from '../load.js';
import { checkFinalState, type Phase, type RunContext, type Scenario } from '../scenario.js';
import { type FaultTimes, planFaults, type PlannedKind } from '../schedule.js';
import { watchMoney } from '../check-books.js';
import { checkDeadlocks, countDeadlocks } from '../check-deadlocks.js';
import { plantCanaries } from '../plant-canaries.js';
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
}: LoadScenarioOptions): Scenario {
  return {
    name,
    faults,
    phase,
    minutesMax,
    async run(context) {
      const { cluster, log, random, prefix, tally, signal, onProgress } = context;
      onProgress(`opening ${3 * pool + CLIENTS} accounts`);
      const { endpoint } = cluster;
      const world = await makeWorld(endpoint, { pool, owned: CLIENTS });
      const startedAt = new Date();
      onProgress(`${CLIENTS} clients${faults.length === 0 ? '' : `, faults: ${faults.join(', ')}`}`);
      const deadlocks = await countDeadlocks(cluster);
      const plan = faults.length === 0 ? [] : planFaults(random.fork('faults'), faults, times);
      const [money] = await Promise.all([
        watchMoney(cluster.database, signal, () => tally.count('snapshots')),
        injectFaults(cluster, plan, log, signal, {
          onFault: (kind) => tally.countFault(kind),
          report: (violations) => tally.addViolations(violations),
        }),
        runLoad({ endpoint, world, log, random, prefix, signal, ...counting(context) }),
      ]);
      tally.addViolations(money.violations);
      if (faults.length === 0) {
        tally.addViolations(await checkDeadlocks(cluster, deadlocks));
        tally.addViolations(await plantCanaries(endpoint, world.pool[0] as LoadAccount));
      }
      const feeOf = ({ recipientId, workspaceId }: SentOrder) =>
        recipientId === world.payoutRecipient(workspaceId) ? PAYOUT_FEE : minorUnits(0n);
      await checkFinalState(context, { world, startedAt, feeOf });
    },
  };
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
