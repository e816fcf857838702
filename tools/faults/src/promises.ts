import { type Figures, type Scenario, UNITS, type Violation } from './scenario.js';
import { CELL_SCENARIOS } from './scenarios/cells.js';
import { CLIENT_SCENARIOS } from './scenarios/clients.js';
import { clockJumps, DATABASE_SCENARIOS } from './scenarios/database-and-clock.js';
import { gateway, KEY_SCENARIOS } from './scenarios/keys.js';
import { limitsAndApprovals } from './scenarios/limits-and-approvals.js';
import { LOAD_SCENARIOS } from './scenarios/load.js';
import { MOVE_SCENARIOS } from './scenarios/moves.js';
import { PAYOUT_SCENARIOS } from './scenarios/payouts.js';
import { RECOVERY_SCENARIOS } from './scenarios/recovery.js';
import { WEBHOOK_SCENARIOS } from './scenarios/webhooks.js';

export const SCENARIOS: readonly Scenario[] = [
  ...[...LOAD_SCENARIOS, ...KEY_SCENARIOS, ...PAYOUT_SCENARIOS, ...DATABASE_SCENARIOS, clockJumps, limitsAndApprovals],
  ...[...CLIENT_SCENARIOS, gateway, ...WEBHOOK_SCENARIOS, ...CELL_SCENARIOS, ...MOVE_SCENARIOS, ...RECOVERY_SCENARIOS],
];

/** One promise of the service and how it is proved. */
export interface ServicePromise {
  readonly id: string;
  readonly title: string;
  readonly scenario: string;
  /** What a run must reach, so that it passes without a violation. */
  readonly goals: Figures;
  /** The checks whose violations break the promise. */
  readonly checks: readonly string[];
}

/** Checks that go together. ALL must hold in every run under faults. */
const GROUPS: Readonly<Record<string, string>> = {
  ORDERS: 'acknowledged refused stray-orders one-order-per-key same-response balances',
  BOOKS: 'money below-zero books append-only',
  ALL: 'ORDERS BOOKS events reads payouts outcome processes secrets',
  MOVES: 'ALL crossings moves old-cell ids',
};

/** Of each promise: id, title, scenario, figures that a run must reach, and checks. */
const TABLE = `
P1  | Money per currency is conserved                   | bank             | snapshots 1000               | money books balances
P2  | No balance of a customer falls below zero         | spend            | rounds 2000                  | below-zero outcome ORDERS
P3  | Acknowledged orders survive kill -9 of services   | service-crashes  | kills 50, acknowledged 5000  | ALL
P4  | Acknowledged orders survive a crash of PostgreSQL | database-crashes | faults 40                    | ALL
P5  | A retry never posts twice                         | lost-reply       | rounds 500                   | outcome ORDERS
P6  | Concurrent requests of one key make one order     | same-key         | keys 200                     | outcome ORDERS
P7  | A key refuses another body                        | same-key         | mutations 1000               | outcome stray-orders acknowledged
P8  | A read after an acknowledgement shows it          | bank             | reads 10000                  | reads
P8  | A list from a replica shows what was acknowledged | replica          | reads 10000, faults 20       | ALL response-time
P9  | The books balance and are append-only             | bank             | acknowledged 1000, refusedChanges 45 | BOOKS balances
P12 | Orders on the same accounts make no deadlock      | bank             | quads 500, acknowledged 3000 | deadlocks
P13 | A conflict in the database is retried or a 503    | database-errors  | injected 1000, faults 50     | outcome ORDERS
P14 | A hot account does not delay others               | hot-account      | minutes 1                    | starvation ORDERS
P15 | A payout is paid once by the network              | payout-crash     | kills 200                    | payouts ORDERS
P16 | Payouts that fail do not delay others             | poison           | payouts 1980, parked 20      | poison payouts ORDERS
P17 | A worker that lost its lease completes nothing    | lost-lease       | takeovers 100                | claims payouts ORDERS
P18 | A reader who follows the events misses none       | service-crashes  | kills 10, events 20000       | events
P19 | Webhooks arrive, in order and signed              | webhooks         | kills 10, deliveries 6000    | webhooks processes
P20 | An endpoint that hangs delays no other            | hanging-endpoint | deliveries 5000              | webhooks
P26 | A stop loses no request                           | stops            | stops 20, requests 2000      | stops ORDERS
P27 | The promises hold while PostgreSQL is away        | connections      | faults 60, outages 10        | ALL readiness response-time
P27 | The promises hold while its disk is full          | full-disk        | faults 10                    | ALL readiness response-time
P28 | Without a database connection, a request gets 503 | exhausted-pool   | requests 500                 | outcome response-time growth ORDERS
P29 | Slow clients do not delay others                  | slow-clients     | sockets 500                  | starvation response-time
P30 | Jumps of the clock change no result               | clock-jumps      | faults 20, keys 8, tokens 50 | ALL claims
P31 | Logs and errors contain no secret                 | bank             | acknowledged 1000, searched 5000 | secrets
P32 | A gateway sends no request twice                  | gateway          | keys 200, faults 50          | upstream ORDERS
P33 | A dump is restored                                | dump             | recovered 1                  | ALL recovery
P33 | An archive is recovered to a moment               | pitr             | recovered 1                  | ALL recovery
P33 | A synchronous replica has every order             | replica-sync     | recovered 1                  | ALL recovery
P33 | An asynchronous replica is promoted               | replica-async    | recovered 1                  | ALL recovery
P33 | Clients go on at a synchronous replica            | failover-sync    | recovered 1                  | ALL recovery
P33 | Clients go on at an asynchronous replica          | failover-async   | recovered 1                  | ALL recovery
P36 | The promises hold for half an hour                | soak             | minutes 30, faults 25        | ALL growth
P37 | A cell that is away stops its own workspaces only | cell-away        | faults 12                    | ALL response-time
P38 | The other cells are served while home is away     | home-away        | faults 6                     | ALL response-time
P39 | The ids of cells are disjoint                     | cell-away        | faults 12, ids 2000          | ids
P40 | A payment between cells arrives once or comes back | crossing-crash  | kills 200                    | ALL crossings
P41 | A workspace is moved without losing an order      | moved-workspace  | faults 10, acknowledged 2000 | MOVES
P42 | A move that is killed is resumed or abandoned     | killed-move      | faults 40                    | MOVES
P45 | Orders never exceed a limit, and use all of it    | limits-and-approvals | kills 50, rounds 100     | limits ALL
P46 | What needs approvals happens once, and after them | limits-and-approvals | kills 50, decisions 1000 | approvals ALL`;

const checksOf = (words: string): string[] =>
  words.split(' ').flatMap((word) => (GROUPS[word] === undefined ? [word] : checksOf(GROUPS[word])));

export const PROMISES: readonly ServicePromise[] = TABLE.trim()
  .split('\n')
  .map((line) => {
    const [id, title, scenario, goals, checks] = line.split('|').map((cell) => cell.trim()) as [
      ...[string, string, string, string, string],
    ];
    const figures = goals.split(', ').map((goal) => goal.split(' ') as [string, string]);
    const wanted = Object.fromEntries(figures.map(([figure, number]) => [figure, Number(number)]));
    return { id, title, scenario, goals: wanted, checks: checksOf(checks) };
  });

/** The promises of an id or a scenario, or all of them; undefined for any other word. */
export function choosePromises(word: string): readonly ServicePromise[] | undefined {
  const found = PROMISES.filter(({ id, scenario }) => word === 'all' || [id, scenario].includes(word));
  return found.length === 0 ? undefined : found;
}

export interface ScenarioResult {
  readonly scenario: string;
  readonly figures: Figures;
  readonly faults: ReadonlyMap<string, number>;
  /** The kinds that the scenario injects. */
  readonly wantedFaults: readonly string[];
  readonly operations: number;
  readonly succeeded: number;
  readonly violations: readonly Violation[];
  /** Why the run shows less than it should. */
  readonly doubts: readonly string[];
  readonly notes: readonly string[];
  /** The error that ended the run before the final state was read. */
  readonly error?: string | undefined;
  readonly logPath: string;
}

export interface Row {
  readonly promise: ServicePromise;
  readonly faults: number;
  readonly operations: number;
  readonly violations: readonly Violation[];
  readonly verdict: 'pass' | 'fail' | 'unknown';
  /** Why it is no pass, and what was reached. */
  readonly note: string;
}

/** Below this share a run says little: the service may have refused what would have failed. */
const SUCCESS_MIN = 0.3;

/** Figures that only the final checks count. */
const FINAL = ['refusedChanges', 'searched', 'ids'];

const figuresOf = (goals: Figures) => Object.entries(goals) as [keyof typeof UNITS, number][];

/** Whether a scenario has reached what these promises demand of it, so that it can stop. */
export function isReached(promises: readonly ServicePromise[], figures: Figures): boolean {
  const goals = promises.flatMap((promise) => figuresOf(promise.goals));
  return goals.every(([figure, goal]) => FINAL.includes(figure) || (figures[figure] ?? 0) >= goal);
}

/**
 * Judges a promise by the run of its scenario. A violation of its checks fails it. A run that shows too little, or that violated another
 * check, leaves it unknown.
 */
export function judge(promise: ServicePromise, result: ScenarioResult): Row {
  const { operations, figures, faults, notes } = result;
  const violations = result.violations.filter(({ check }) => promise.checks.includes(check));
  const doubts = doubtsOf(promise, result);
  const verdict = violations.length > 0 ? 'fail' : doubts.length > 0 ? 'unknown' : 'pass';
  const reached = figuresOf(promise.goals).map(
    ([figure, goal]) => `${figures[figure] ?? 0} of ${goal} ${UNITS[figure]}`,
  );
  const why = verdict === 'fail' ? violations.slice(0, 1).map(({ detail }) => detail) : doubts;
  return {
    ...{ promise, operations, violations, verdict },
    faults: [...faults.values()].reduce((sum, count) => sum + count, 0),
    note: [...why, reached.join(', '), ...notes].join('; '),
  };
}

function doubtsOf({ goals, checks }: ServicePromise, result: ScenarioResult): string[] {
  const { figures, faults, wantedFaults, operations, succeeded, doubts, error, violations } = result;
  const share = operations === 0 ? 0 : succeeded / operations;
  const others = new Set(violations.map(({ check }) => check).filter((check) => !checks.includes(check)));
  const missing = [...new Set(wantedFaults)].filter((kind) => !faults.get(kind));
  const isShort = figuresOf(goals).some(([figure, goal]) => (figures[figure] ?? 0) < goal);
  return [
    ...(others.size > 0 ? [`other checks failed: ${[...others].join(', ')}`] : []),
    ...(error === undefined ? [] : [`the run ended early: ${error}`]),
    ...(share < SUCCESS_MIN ? [`${Math.round(100 * share)} % of the operations succeeded`] : []),
    ...(missing.length > 0 ? [`not injected: ${missing.join(', ')}`] : []),
    ...(isShort ? ['figure not reached'] : []),
    ...doubts,
  ];
}

const HEAD = ['Promise', 'Faults', 'Operations', 'Violations', 'Verdict', 'Figures'];

export function tableOf(rows: readonly Row[]): string {
  const cells = rows.map(({ promise, faults, operations, violations, verdict, note }) => [
    `${promise.id} ${promise.title}`,
    ...[faults, operations, violations.length].map(String),
    ...[verdict, note],
  ]);
  const all = [HEAD, ...cells];
  const widths = HEAD.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  const rules = widths.map((width) => '-'.repeat(Math.min(width, 60)));
  const padded = ([first = '', ...row]: readonly string[]) =>
    [
      first.padEnd(widths[0]!),
      ...row.map((cell, at) => (at < 3 ? cell.padStart(widths[at + 1]!) : cell.padEnd(widths[at + 1]!))),
    ]
      .join('  ')
      .trimEnd();
  return [padded(HEAD), rules.join('  '), ...cells.map(padded)].join('\n');
}

const SHOWN_MAX = 10;

/** What follows the table of a failed run: violations and errors of each scenario, its log, and the command that repeats the run. */
export function failureText(failed: readonly ScenarioResult[], command: string): string {
  const scenarios = failed.flatMap(({ scenario, violations, error, logPath }) => [
    `${scenario}: ${violations.length === 1 ? 'one violation' : `${violations.length} violations`}; log: ${logPath}`,
    ...(error === undefined ? [] : [`  ended early: ${error}`]),
    ...violations.slice(0, SHOWN_MAX).map(({ check, detail }) => `  ${check}: ${detail}`),
  ]);
  return [...scenarios, `Replay: ${command}`].join('\n');
}
