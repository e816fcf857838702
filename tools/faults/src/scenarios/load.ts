import { readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Client } from 'pg';
import type { Cluster, ClusterOptions } from '../cluster.js';
import { whyNoDisk } from '../devices.js';
import { type FaultTimes, injectFaults, type PlannedKind } from '../faults.js';
import { untilRecorded } from '../final-checks.js';
import { runLoad } from '../load.js';
import type { Endpoint } from '../orders.js';
import { type RunContext, type Scenario, type Violation, violationsOf } from '../scenario.js';
import { plantCanaries } from '../secrets.js';
import type { DatabaseServer } from '../servers.js';
import { makeWorld } from '../world.js';
import { wait } from '../wait.js';

const POOL = 20;
const CLIENTS = 16;
const INTERVAL_MS = 50;

interface LoadScenario extends Pick<Scenario, 'name' | 'phase' | 'minutesMax' | 'missing'> {
  readonly faults: readonly PlannedKind[];
  readonly times?: FaultTimes;
  readonly cluster?: ClusterOptions;
  /** Whether every response must arrive in the time that the service promises. No process is killed or paused then. */
  readonly isBounded?: boolean;
}

/** Clients place orders and read them back, a reader sums all balances, and faults are injected meanwhile. */
function loadScenario({ times = KILLS, isBounded = false, ...scenario }: LoadScenario): Scenario {
  const { faults, phase, cluster: options } = scenario;
  const isSoak = phase === 'soak';
  return {
    ...scenario,
    async run(context) {
      const { cluster, tally, signal, onProgress } = context;
      onProgress(`opening ${3 * POOL + CLIENTS} accounts`);
      const endpoint = isBounded ? boundedEndpoint(context) : cluster.endpoint;
      const world = await makeWorld(endpoint, { pool: POOL, owned: CLIENTS });
      onProgress(`${CLIENTS} clients${faults.length === 0 ? '' : `, faults: ${faults.join(', ')}`}`);
      const deadlocks = await cluster.database.count(DEADLOCKS);
      const events = new EventReader(cluster.database);
      await Promise.all([
        watchMoney(context),
        isSoak && watchGrowth(context),
        whileConnected(cluster.database, signal, async (client) => tally.count('events', await events.read(client))),
        injectFaults(context, faults, times),
        runLoad(context, { endpoint, world, pauses: isSoak ? 1 : 0, readsLists: options?.hasReplica === true }),
      ]);
      if (faults.length === 0) {
        tally.violate('deadlocks', ...(await deadlocksOf(cluster, deadlocks)));
        tally.addViolations(await plantCanaries(endpoint, world.pool[0]!));
      }
      return { owned: world.owned, check: () => events.compare() };
    },
  };
}

/** The service responds within 15 seconds, checked every second; the rest is for a machine that is busy. */
const RESPONSE_MS = 17_000;

function boundedEndpoint({ cluster, tally }: RunContext): Endpoint {
  return {
    ...cluster.endpoint,
    onReceived({ status, error, ms }, { method, path }) {
      if (status === 500) tally.violate('outcome', `${method} ${path} got 500`);
      if (status !== undefined && ms <= RESPONSE_MS) return;
      tally.violate('response-time', `${method} ${path} got ${status ?? error} after ${Math.round(ms)} ms`);
    },
  };
}

/** Repeats the work until the signal. While the database is down, it tries to connect again. */
export async function whileConnected(
  database: DatabaseServer,
  signal: AbortSignal,
  work: (client: Client) => Promise<void>,
): Promise<void> {
  let client: Client | undefined;
  while (!signal.aborted) {
    try {
      client ??= await database.connect();
      await work(client);
    } catch {
      await client?.end().catch(() => undefined);
      client = undefined;
    }
    await wait(INTERVAL_MS, signal);
  }
  await client?.end().catch(() => undefined);
}

/** Balances of customers as they are stored, and our own accounts as the sum of their transfers, in one snapshot. */
const SUMS = `
  select format('the balances in currency %s add up to %s and not to 0', currency_id, sum(amount)) as fault
  from (
    select currency_id, sum(balance) as amount from banking.account where kind = 'customer' group by currency_id
    union all
    select t.currency_id, sum(case t.direction when 'credit' then t.amount else -t.amount end)
    from banking.leg t join banking.account a on (a.workspace_id, a.id) = (t.workspace_id, t.account_id)
    where a.kind <> 'customer'
    group by t.currency_id
  ) x
  group by currency_id having sum(amount) <> 0`;

const BELOW_ZERO = `
  select format('account %s holds %s, below zero', id, balance) as fault
  from banking.account where kind = 'customer' and balance < 0`;

export async function watchMoney({ cluster, tally, signal }: Pick<RunContext, 'cluster' | 'tally' | 'signal'>) {
  await whileConnected(cluster.database, signal, async (client) => {
    const sums = await client.query<{ fault: string }>(SUMS);
    const low = await client.query<{ fault: string }>(BELOW_ZERO);
    tally.violate('money', ...sums.rows.map(({ fault }) => fault));
    tally.violate('below-zero', ...low.rows.map(({ fault }) => fault));
    tally.count('snapshots');
  });
}

/** The events of each workspace with an id above the last one that was read. */
const NEXT = `
  select e.workspace_id::text as workspace, e.id::text as id
  from unnest($1::bigint[], $2::bigint[]) c (workspace, last)
  cross join lateral (
    select workspace_id, id from banking.event where workspace_id = c.workspace and id > c.last order by id limit 1000) e`;
const LAST = `
  select w.id::text as workspace, coalesce((select max(e.id) from banking.event e where e.workspace_id = w.id), 0)::text as id
  from banking.workspace w`;
const STORED = `
  select count(*)::int as count
  from unnest($1::bigint[], $2::bigint[]) c (workspace, first) join banking.event e on e.workspace_id = c.workspace and e.id > c.first`;

/** A reader who follows the cursor of each workspace while writers and recorders are killed. */
class EventReader {
  private readonly last = new Map<string, string>();
  private first: ReadonlyMap<string, string> = new Map();
  private count = 0;

  constructor(private readonly database: DatabaseServer) {}

  /** Reads once, from the events that are there at the first time. */
  async read(client: Client): Promise<number> {
    const [text, values] = this.last.size === 0 ? [LAST, []] : [NEXT, [[...this.last.keys()], [...this.last.values()]]];
    const { rows } = await client.query<{ workspace: string; id: string }>(text, values);
    const isFirst = this.last.size === 0;
    for (const { workspace, id } of rows) this.last.set(workspace, id);
    if (isFirst) this.first = new Map(this.last);
    else this.count += rows.length;
    return isFirst ? 0 : rows.length;
  }

  /** Reads the rest when all changes are recorded, and compares the number with the events that are stored. */
  async compare(): Promise<Violation[]> {
    await untilRecorded(this.database);
    const client = await this.database.connect();
    while ((await this.read(client)) > 0);
    await client.end();
    const stored = await this.database.count(STORED, [[...this.first.keys()], [...this.first.values()]]);
    if (stored === this.count) return [];
    return violationsOf('events', [`a reader who followed the cursor got ${this.count} of ${stored} events`]);
  }
}

const DEADLOCKS = 'select coalesce(sum(deadlocks), 0)::int as count from pg_stat_database';
const CONFLICT = /^.*\b(40P01|40001)\b.*$/m;

/** Deadlocks since the count, and conflicts that a process reported. */
async function deadlocksOf({ database, members, folder }: Cluster, before: number): Promise<string[]> {
  const counted = (await database.count(DEADLOCKS)) - before;
  const found = counted > 0 ? [`PostgreSQL counted ${counted} deadlocks`] : [];
  for (const { process } of members) {
    const [line] = CONFLICT.exec(await readFile(join(folder, `${process.name}.log`), 'utf8')) ?? [];
    if (line !== undefined) found.push(`${process.name} logged ${line.slice(0, 300)}`);
  }
  return found;
}

const MINUTE_MS = 60_000;
const SAMPLE_MS = 10_000;
const WARM_UP_MS = 5 * MINUTE_MS;
/** The memory of a process grows in steps until it is that of its load. A shorter time says little about growth. */
const MEASURED_LEAST_MS = 10 * MINUTE_MS;
const MIB = 1024 * 1024;
/** Of memory in MiB, and of open files, in a minute. */
const GROWTH_MAX = 1;

interface ResourceSample {
  readonly process: string;
  readonly pid: number;
  readonly atMs: number;
  readonly rssBytes: number;
  readonly handles: number;
}

/** The resources of the processes that run now. Empty where the system has no /proc. */
export function sampleResources({ members }: Cluster, atMs = 0): ResourceSample[] {
  return members.flatMap(({ process: { name, pid } }) => {
    try {
      const rssKb = Number(/^VmRSS:\s+([0-9]+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]);
      const handles = readdirSync(`/proc/${pid}/fd`).length;
      return [{ process: name, pid: pid!, atMs, rssBytes: rssKb * 1024, handles }];
    } catch {
      return [];
    }
  });
}

/** Judges the growth of each process after its first five minutes. A process that was started again is another. */
async function watchGrowth({ cluster, signal, tally }: RunContext): Promise<void> {
  const lives = new Map<number, ResourceSample[]>();
  const beganAt = Date.now();
  let minutes = 0;
  while (!signal.aborted) {
    for (const sample of sampleResources(cluster, Date.now() - beganAt)) {
      lives.set(sample.pid, [...(lives.get(sample.pid) ?? []), sample]);
    }
    await wait(SAMPLE_MS, signal);
    for (; minutes < Math.floor((Date.now() - beganAt) / MINUTE_MS); minutes += 1) tally.count('minutes');
  }
  let measured = 0;
  for (const samples of lives.values()) {
    const steady = samples.filter(({ atMs }) => atMs >= samples[0]!.atMs + WARM_UP_MS);
    if ((steady.at(-1)?.atMs ?? 0) - (steady[0]?.atMs ?? 0) < MEASURED_LEAST_MS) continue;
    measured += 1;
    const grown = [
      [slopeOf(steady, ({ rssBytes }) => rssBytes / MIB), 'MiB of memory'],
      [slopeOf(steady, ({ handles }) => handles), 'open files'],
    ] as const;
    for (const [slope, unit] of grown) {
      if (slope < GROWTH_MAX) continue;
      const detail = `grew by ${slope.toFixed(2)} ${unit} a minute after its first five minutes`;
      tally.violate('growth', `${samples[0]?.process} ${detail}`);
    }
  }
  if (measured === 0) tally.doubt('no process ran long enough to measure its growth');
}

function slopeOf(samples: readonly ResourceSample[], valueOf: (sample: ResourceSample) => number): number {
  const mean = (of: (sample: ResourceSample) => number) =>
    samples.reduce((sum, one) => sum + of(one), 0) / samples.length;
  const minuteOf = ({ atMs }: ResourceSample) => atMs / MINUTE_MS;
  const [minute, value] = [mean(minuteOf), mean(valueOf)];
  return (
    mean((one) => (minuteOf(one) - minute) * (valueOf(one) - value)) / mean((one) => (minuteOf(one) - minute) ** 2)
  );
}

const KILLS: FaultTimes = { afterMs: [200, 3_000], lastsMs: [500, 3_000] };
const FAILURES: FaultTimes = { afterMs: [200, 1_500], lastsMs: [500, 2_000] };
const OUTAGES: FaultTimes = { afterMs: [500, 4_000], lastsMs: [500, 3_000] };
const EACH_MINUTE: FaultTimes = { afterMs: [53_000, 58_000], lastsMs: [1_000, 4_000] };
/** A replica that was away is used again after some seconds. */
const LAGS: FaultTimes = { afterMs: [1_000, 4_000], lastsMs: [500, 2_000] };

const PROCESS_FAULTS = ['kill-api', 'kill-worker', 'pause-api', 'pause-worker'] as const;

export const LOAD_SCENARIOS: readonly Scenario[] = [
  loadScenario({ name: 'bank', faults: [], phase: 'other', minutesMax: 2.5 }),
  loadScenario({
    name: 'replica',
    // A list is most easily too old while the replay is paused.
    faults: ['pause-replay', 'pause-replay', 'pause-replay', 'kill-replica', 'half-open-replica'],
    times: LAGS,
    ...{ phase: 'other', minutesMax: 3, isBounded: true, cluster: { hasReplica: true } },
  }),
  loadScenario({
    name: 'service-crashes',
    faults: [...PROCESS_FAULTS, 'kill-api-at-commit', 'kill-worker-at-submission'],
    ...{ phase: 'other', minutesMax: 5.5 },
  }),
  loadScenario({
    name: 'database-crashes',
    faults: ['kill-postmaster', 'stop-postmaster'],
    ...{ times: OUTAGES, phase: 'other', minutesMax: 2.5 },
  }),
  loadScenario({
    name: 'connections',
    faults: ['terminate-backend', 'kill-backend', 'outage', 'delay', 'half-open', 'reset', 'reset-at-commit'],
    ...{ times: FAILURES, phase: 'alone', minutesMax: 5, isBounded: true },
  }),
  loadScenario({
    name: 'full-disk',
    faults: ['full-disk', 'full-wal'],
    ...{
      times: FAILURES,
      phase: 'alone',
      minutesMax: 2,
      isBounded: true,
      cluster: { hasDisk: true },
      missing: whyNoDisk,
    },
  }),
  loadScenario({
    name: 'soak',
    // The second process of each kind lives for the whole time, so that its growth can be measured.
    faults: [
      'kill-api-0',
      'kill-worker-0',
      'pause-api',
      'pause-worker',
      'stop-postmaster',
      'delay',
      'half-open',
      'reset',
    ],
    ...{ times: EACH_MINUTE, phase: 'soak', minutesMax: 30.2 },
  }),
];
