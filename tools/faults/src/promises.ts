import type { CheckName } from './check-orders.js';
import type { Figures, Scenario } from './scenario.js';
import { loadScenario } from './scenarios/load-scenario.js';
import { cellAway, homeAway } from './scenarios/cell-away.js';
import { crossingCrash } from './scenarios/crossing-crash.js';
import { clockJumps } from './scenarios/clock-jumps.js';
import { databaseErrors } from './scenarios/database-errors.js';
import { exhaustedPool } from './scenarios/exhausted-pool.js';
import { gateway } from './scenarios/gateway.js';
import { hotAccount } from './scenarios/hot-account.js';
import { lostLease } from './scenarios/lost-lease.js';
import { lostReply } from './scenarios/lost-reply.js';
import { killedMove, movedWorkspace } from './scenarios/moved-workspace.js';
import { payoutCrash } from './scenarios/payout-crash.js';
import { poison } from './scenarios/poison.js';
import { sameKey } from './scenarios/same-key.js';
import { slowClients } from './scenarios/slow-clients.js';
import { spend } from './scenarios/spend.js';
import { stops } from './scenarios/stops.js';
import { hangingEndpoint } from './scenarios/hanging-endpoint.js';
import { webhooks } from './scenarios/webhooks.js';
import { whyNoDisk } from './small-disk.js';

/** One promise of the service and how it is proved. */
export interface ServicePromise {
  readonly id: string;
  readonly title: string;
  readonly scenario: string;
  /** What a run must reach, so that it passes without a violation. */
  readonly goals: Figures;
  /** The checks whose violations break the promise. */
  readonly checks: readonly CheckName[];
  /** What the promise also demands and no run measures yet. The verdict is then at most `unknown`. */
  readonly notMeasured?: string;
}

/** Between two faults, and how long one lasts. A killed process is started again in this time too. */
const KILLS = { afterMs: [200, 3_000], lastsMs: [500, 3_000] } as const;
const FAILURES = { afterMs: [200, 1_500], lastsMs: [500, 2_000] } as const;
const EACH_MINUTE = { afterMs: [53_000, 58_000], lastsMs: [1_000, 4_000] } as const;
/** A replica that was away is used again after some seconds. */
const LAGS = { afterMs: [1_000, 4_000], lastsMs: [500, 2_000] } as const;
const OUTAGES = { afterMs: [500, 4_000], lastsMs: [500, 3_000] } as const;

export const SCENARIOS: readonly Scenario[] = [
  loadScenario({ name: 'bank', faults: [], phase: 'other', minutesMax: 2.5 }),
  loadScenario({
    name: 'replica',
    // A list is most easily too old while the replay is paused.
    faults: ['pause-replay', 'pause-replay', 'pause-replay', 'kill-replica', 'half-open-replica'],
    times: LAGS,
    phase: 'other',
    minutesMax: 3,
    isBounded: true,
    cluster: { hasReplica: true },
  }),
  spend,
  loadScenario({
    name: 'service-crashes',
    faults: [
      ...(['kill-api', 'kill-worker', 'pause-api', 'pause-worker'] as const),
      ...(['kill-api-at-commit', 'kill-worker-at-submission'] as const),
    ],
    times: KILLS,
    phase: 'other',
    minutesMax: 5.5,
  }),
  loadScenario({
    name: 'database-crashes',
    faults: ['kill-postmaster', 'stop-postmaster'],
    times: OUTAGES,
    phase: 'other',
    minutesMax: 2.5,
  }),
  lostReply,
  sameKey,
  payoutCrash,
  databaseErrors,
  lostLease,
  clockJumps,
  poison,
  exhaustedPool,
  hotAccount,
  slowClients,
  gateway,
  stops,
  webhooks,
  hangingEndpoint,
  cellAway,
  homeAway,
  crossingCrash,
  movedWorkspace,
  killedMove,
  loadScenario({
    name: 'connections',
    faults: ['terminate-backend', 'kill-backend', 'outage', 'delay', 'half-open', 'reset', 'reset-at-commit'],
    times: FAILURES,
    phase: 'alone',
    minutesMax: 5,
    isBounded: true,
  }),
  loadScenario({
    name: 'full-disk',
    faults: ['full-disk', 'full-wal'],
    times: FAILURES,
    phase: 'alone',
    minutesMax: 2,
    isBounded: true,
    cluster: { hasDisk: true },
    missing: whyNoDisk,
  }),
  loadScenario({
    name: 'soak',
    faults: ['kill-api', 'kill-worker', 'pause-api', 'pause-worker', 'stop-postmaster', 'delay', 'half-open', 'reset'],
    times: EACH_MINUTE,
    phase: 'soak',
    minutesMax: 30.2,
    isSoak: true,
  }),
];

const ORDERS = ['acknowledged', 'refused', 'stray-orders', 'one-order-per-key', 'same-response', 'balances'] as const;
const BOOKS = ['money', 'below-zero', 'books', 'append-only'] as const;
const EVENTS = ['events'] as const;
/** What must hold in every run under faults. */
const ALL = [...ORDERS, ...BOOKS, ...EVENTS, 'reads', 'payouts', 'outcome', 'processes', 'secrets'] as const;

/** What must hold in every run that moves workspaces. */
const CELLS = ['crossings', 'moves', 'old-cell', 'ids'] as const;

export const PROMISES: readonly ServicePromise[] = [
  promise('P1', 'Money per currency is conserved', 'bank', { snapshots: 1_000 }, ['money', 'books', 'balances']),
  promise('P2', 'No balance of a customer falls below zero', 'spend', { rounds: 2_000 }, [
    'below-zero',
    'outcome',
    ...ORDERS,
  ]),
  promise(
    'P3',
    'Acknowledged orders survive kill -9 of the service',
    'service-crashes',
    { kills: 50, acknowledged: 5_000 },
    ALL,
  ),
  promise('P4', 'Acknowledged orders survive a crash of PostgreSQL', 'database-crashes', { faults: 40 }, ALL),
  promise('P5', 'A retry never posts twice', 'lost-reply', { rounds: 500 }, ['outcome', ...ORDERS]),
  promise('P6', 'Concurrent requests of one key make one order', 'same-key', { keys: 200 }, ['outcome', ...ORDERS]),
  promise('P7', 'A key refuses another body', 'same-key', { mutations: 1_000 }, [
    'outcome',
    'stray-orders',
    'acknowledged',
  ]),
  promise('P8', 'A read after an acknowledgement shows it', 'bank', { reads: 10_000 }, ['reads']),
  promise('P8', 'A list from a replica shows what was acknowledged', 'replica', { reads: 10_000, faults: 20 }, [
    ...ALL,
    'response-time',
  ]),
  promise('P9', 'The books balance and are append-only', 'bank', { acknowledged: 1_000, refusedChanges: 15 }, [
    ...BOOKS,
    'balances',
  ]),
  promise('P12', 'Orders on the same accounts make no deadlock', 'bank', { quads: 500, acknowledged: 3_000 }, [
    'deadlocks',
  ]),
  promise('P13', 'A conflict in the database is retried or a 503', 'database-errors', { injected: 1_000, faults: 50 }, [
    'outcome',
    ...ORDERS,
  ]),
  promise('P15', 'A payout is paid once by the network', 'payout-crash', { kills: 200 }, ['payouts', ...ORDERS]),
  promise('P14', 'A hot account does not delay others', 'hot-account', { minutes: 1 }, ['starvation', ...ORDERS]),
  promise('P16', 'Payouts that fail do not delay others', 'poison', { payouts: 1_980, parked: 20 }, [
    'poison',
    'payouts',
    ...ORDERS,
  ]),
  promise('P17', 'A worker that lost its lease completes nothing', 'lost-lease', { takeovers: 100 }, [
    'claims',
    'payouts',
    ...ORDERS,
  ]),
  promise(
    'P18',
    'A reader who follows the events misses none',
    'service-crashes',
    { kills: 10, events: 20_000 },
    EVENTS,
  ),
  promise('P19', 'Webhooks arrive, in order and signed', 'webhooks', { kills: 10, deliveries: 6_000 }, [
    'webhooks',
    'processes',
  ]),
  promise('P20', 'An endpoint that hangs delays no other', 'hanging-endpoint', { deliveries: 5_000 }, ['webhooks']),
  promise('P26', 'A stop loses no request', 'stops', { stops: 20, requests: 2_000 }, ['stops', ...ORDERS]),
  promise('P29', 'Slow clients do not delay others', 'slow-clients', { sockets: 500 }, ['starvation', 'response-time']),
  promise('P30', 'Jumps of the clock change no result', 'clock-jumps', { faults: 20, keys: 8, tokens: 50 }, [
    ...ALL,
    'claims',
  ]),
  promise('P31', 'Logs and errors contain no secret', 'bank', { acknowledged: 1_000, searched: 5_000 }, ['secrets']),
  promise('P27', 'The promises hold while PostgreSQL is away', 'connections', { faults: 60, outages: 10 }, [
    ...ALL,
    'readiness',
    'response-time',
  ]),
  promise('P27', 'The promises hold while the disk of PostgreSQL is full', 'full-disk', { faults: 10 }, [
    ...ALL,
    'readiness',
    'response-time',
  ]),
  promise('P28', 'Without a database connection, a request gets 503', 'exhausted-pool', { requests: 500 }, [
    ...(['outcome', 'response-time', 'growth'] as const),
    ...ORDERS,
  ]),
  promise('P32', 'A gateway sends no request twice', 'gateway', { keys: 200, faults: 50 }, ['upstream', ...ORDERS]),
  promise('P37', 'A cell that is away stops its own workspaces only', 'cell-away', { faults: 12 }, [
    ...ALL,
    'response-time',
  ]),
  promise('P38', 'The other cells are served while home is away', 'home-away', { faults: 6 }, [
    ...ALL,
    'response-time',
  ]),
  promise('P39', 'The ids of cells are disjoint', 'cell-away', { faults: 12, ids: 2_000 }, ['ids']),
  promise('P40', 'A payment between cells arrives once or comes back', 'crossing-crash', { kills: 200 }, [
    ...ALL,
    'crossings',
  ]),
  promise(
    'P41',
    'A workspace is moved without losing an order',
    'moved-workspace',
    { faults: 10, acknowledged: 2_000 },
    [...ALL, ...CELLS],
  ),
  promise('P42', 'A move that is killed is resumed or abandoned', 'killed-move', { faults: 40 }, [...ALL, ...CELLS]),
  promise('P36', 'The promises hold for half an hour', 'soak', { minutes: 30, faults: 25 }, [...ALL, 'growth']),
];

function promise(
  id: string,
  title: string,
  scenario: string,
  goals: Figures,
  checks: readonly CheckName[],
): ServicePromise {
  return { id, title, scenario, goals, checks };
}

/** The promises of an id, or all of them. @throws Error for an unknown id */
export function choosePromises(ids: readonly string[]): readonly ServicePromise[] {
  if (ids.includes('all')) return PROMISES;
  return ids.flatMap((id) => {
    const found = PROMISES.filter((one) => one.id === id);
    if (found.length === 0) throw new Error(`Unknown promise '${id}'. Choose from ${listIds()}.`);
    return found;
  });
}

export const listIds = () => ['all', ...new Set(PROMISES.map(({ id }) => id))].join(', ');
