import { setTimeout as sleep } from 'node:timers/promises';
import { checkOrders, checkOwnedBalances, readBooks, strayPayments } from './books.js';
import { type ClientLog, operationsOf, type ReadEvent } from './client-log.js';
import type { Cluster } from './cluster.js';
import { type Finish, type RunContext, type Violation, violationsOf } from './scenario.js';
import { searchSecrets } from './secrets.js';
import type { Server } from './servers.js';

const SETTLE_MS = 150_000;
const POLL_MS = 500;

const UNSETTLED = `
  select (select count(*) from payout where status in ('due', 'submitting', 'submitted') and created_at > $1)::int
    + (select count(*) from crossing where status = 'due' and created_at > $1)::int
    + (select count(*) from approval where status = 'approved' and outcome is null and created_at > $1)::int as count`;

/** Ends all faults, and waits until the payouts and the payments to other cells since a time are settled, and what was approved is carried out. */
export async function settle({ cluster, tally, onProgress }: RunContext, since: Date): Promise<void> {
  onProgress('ending all faults, and waiting until payouts are settled and approved requests are carried out');
  await cluster.heal();
  tally.violate('processes', ...cluster.ownEnds);
  const until = Date.now() + SETTLE_MS;
  for (;;) {
    let unsettled = 0;
    for (const server of cluster.databases) unsettled += await server.count(UNSETTLED, [since]);
    if (unsettled === 0) return;
    if (Date.now() > until) {
      return tally.violate(
        'payouts',
        `${unsettled} payouts, payments between cells or approved requests are not settled`,
      );
    }
    await sleep(POLL_MS);
  }
}

/** What a comparison needs of a run. */
interface Compared extends Pick<RunContext, 'tally' | 'prefix' | 'onProgress'> {
  readonly cluster: Pick<Cluster, 'databases'>;
  readonly log: Pick<ClientLog, 'events'>;
}

export async function compareWithLog(
  { cluster, log, tally, prefix, onProgress }: Compared,
  { owned = [], check, isCompared }: Finish,
): Promise<void> {
  const operations = operationsOf(log.events);
  if (isCompared) return tally.addViolations((await check?.(operations, new Set())) ?? []);
  onProgress('comparing the client log with the database');
  const books = await readBooks(cluster.databases, prefix);
  tally.addViolations([
    ...checkOrders(operations, books),
    ...checkOwnedBalances(owned, operations, books),
    ...checkReads(log.events.filter((event) => event.event === 'read')),
    ...violationsOf('payouts', books.payoutFaults),
    ...((await check?.(operations, new Set(books.orders.map(({ key }) => key)))) ?? []),
  ]);
  for (const server of cluster.databases) {
    const strays = await strayPayments(server);
    tally.violate('payouts', ...strays.map((key) => `the network has a payment ${key} without a payout`));
  }
}

function checkReads(reads: readonly ReadEvent[]): Violation[] {
  return reads
    .filter(({ expected, actual }) => expected !== actual)
    .map(({ check, subject, api, expected, actual }) => ({
      check,
      detail: `${subject} through api-${api} gave ${actual}, and ${expected} was expected`,
    }));
}

/** Checks what holds for each database, and the logs of its processes. */
export async function proveBooks({ cluster, tally, prefix, onProgress }: RunContext): Promise<void> {
  onProgress('running banking verify');
  for (const server of cluster.databases) {
    if (!(await untilRecorded(server)))
      tally.violate('events', 'changes are not events a minute after the faults ended');
  }
  const { exitCode, output } = await cluster.runCommand('verify', '--json');
  if (exitCode !== 0) tally.violate('books', `banking verify: ${output.slice(-2_000)}`);
  const secrets = await searchSecrets(cluster, prefix);
  tally.addViolations(secrets.violations);
  tally.count('searched', secrets.searched);
  for (const server of cluster.databases) {
    const allowed = await tryChanges(server);
    tally.count('refusedChanges', FORBIDDEN.length - allowed.length);
    tally.violate('append-only', ...allowed);
  }
  if (cluster.cells.size > 1) {
    const { ids, violations } = await checkIds(cluster);
    tally.count('ids', ids);
    tally.addViolations(violations);
  }
}

const RECORDED_MS = 60_000;

/** Waits for the workers, which record all changes. */
export async function untilRecorded(server: Server): Promise<boolean> {
  const until = Date.now() + RECORDED_MS;
  while ((await server.query('select from banking.change_outbox limit 1')).length > 0) {
    if (Date.now() > until) return false;
    await sleep(POLL_MS);
  }
  return true;
}

/** The books, which no role may change, and which only functions write. */
const CHANGES = [
  ...['transfer', 'transaction', 'payout', 'remittance_event', 'account_change'].flatMap((table) => [
    `update ${table} set workspace_id = workspace_id`,
    `delete from ${table}`,
    `truncate ${table}`,
  ]),
  ...['transfer', 'transaction', 'payout', 'arrival'].map((table) => `insert into ${table} select * from ${table}`),
];
/** A call of a function that posts, without anything to post. */
const postingBy = (name: string, more = '') =>
  `select ${name}(array[]::posted_transaction[], array[]::posted_transfer[]${more})`;

/** What each role of a service may not do, by SQL. */
const FORBIDDEN: readonly (readonly [role: string, change: string])[] = [
  ...['banking_api', 'banking_worker'].flatMap((role) =>
    [...CHANGES, postingBy('write_books'), postingBy('post_deposits')].map((change) => [role, change] as const),
  ),
  ['banking_api', postingBy('post_sandbox_deposits')],
  ['banking_api', postingBy('post_returns')],
  ['banking_api', postingBy('post_arrivals', ', array[]::posted_arrival[]')],
];
const INSUFFICIENT_PRIVILEGE = '42501';

/** Tries to write the books as the roles of services. Every attempt is rolled back. @returns the attempts that were not refused */
async function tryChanges(server: Server): Promise<string[]> {
  const client = await server.connect();
  const allowed: string[] = [];
  try {
    for (const [role, change] of FORBIDDEN) {
      await client.query(`begin; set local role ${role}`);
      const code = await client.query(change).then(
        () => 'was allowed',
        (error: { code?: string }) => error.code ?? 'unknown',
      );
      await client.query('rollback');
      if (code !== INSUFFICIENT_PRIVILEGE) allowed.push(`"${change}" as ${role}: ${code}`);
    }
  } finally {
    await client.end();
  }
  return allowed;
}

const STEP = 64n;
const SEQUENCES = `
  select c.relname as name, q.seqincrement::text as step, pg_sequence_last_value(c.oid)::text as last,
         t.relname as "tableName", a.attname as "columnName", (select number from cell_identity) as number
  from pg_sequence q join pg_class c on c.oid = q.seqrelid
  left join pg_depend d on d.refclassid = 'pg_class'::regclass and d.refobjid = c.oid and d.classid = 'pg_attrdef'::regclass
  left join pg_attrdef f on f.oid = d.objid
  left join pg_class t on t.oid = f.adrelid
  left join pg_attribute a on a.attrelid = f.adrelid and a.attnum = f.adnum
  where c.relnamespace = 'banking'::regnamespace
  order by 1, 4`;

interface Sequence {
  readonly name: string;
  readonly step: string;
  readonly last: string | null;
  readonly tableName: string | null;
  readonly columnName: string | null;
  readonly number: number;
}

/** Home has the originals of these; the other cells have copies. */
const COPIED = `select distinct tablename as name from pg_publication_tables where schemaname = 'banking'`;

/** Whether every sequence gives ids of its own cell, and no id of any table is in two cells. All sequences come from the catalog. */
async function checkIds({ cells, database: home }: Cluster) {
  const faults: string[] = [];
  const copied = new Set((await home.query<{ name: string }>(COPIED)).map(({ name }) => name));
  const owners = new Map<string, string>();
  for (const [cell, server] of cells) {
    const sequences = await server.query<Sequence>(SEQUENCES);
    if (sequences.length === 0) faults.push(`${cell} has no sequence`);
    for (const { name, step, last, tableName, columnName, number } of sequences) {
      const isOwn = last === null || BigInt(last) % STEP === BigInt(number);
      if (BigInt(step) !== STEP || !isOwn) faults.push(`${name} of ${cell} is at ${last} and steps by ${step}`);
      if (tableName === null || columnName === null) {
        faults.push(`${name} of ${cell} is the default of no column, so its ids are not compared`);
        continue;
      }
      if (cell !== 'home' && copied.has(tableName)) continue;
      for (const { id } of await server.query<{ id: string }>(`select ${columnName}::text as id from ${tableName}`)) {
        const key = `${tableName}.${columnName} ${id}`;
        const owner = owners.get(key);
        if (owner !== undefined) faults.push(`${key} is in ${owner} and in ${cell}`);
        owners.set(key, cell);
      }
    }
  }
  return { ids: owners.size, violations: violationsOf('ids', faults) };
}
