import { openDatabase } from '@banking/postgres/testing';
import type { RecipientId } from '@banking/domain';
import { APP_ROLE, bind, type Database, SCHEMA, sqlStatement } from '@banking/postgres';
import { recordChanges } from './record-changes.js';
import { orderWorld, type OrderWorld } from '../testing/order-world.js';
import { recordAll } from '../testing/event-world.js';

const WRITERS = 8;
const TRANSACTIONS = 25;
const KILLS = 10;
const RECIPIENTS = 12;
const seed = Date.now() & 0x7fffffff;

const CHANGE = sqlStatement(
  'change_for_spec',
  'update recipient set alias = $3 where workspace_id = $1 and id = $2 returning id',
);
const RECORD = sqlStatement('record_and_wait', 'select pg_backend_pid() as pid, record_changes(40) as recorded');

let given: OrderWorld;
let { world, ada } = {} as typeof given;
/** Besides the pool of the world, so that writers do not wait for connections. */
let writers: Database;
let recipients: RecipientId[];

beforeAll(async () => {
  given = await orderWorld();
  ({ world, ada } = given);
  writers = await openDatabase({
    ...{ connection: world.connection, role: APP_ROLE, schema: SCHEMA, poolSize: WRITERS + 2 },
    ...{ acquireTimeoutMs: 60_000, statementTimeoutMs: 60_000, lockTimeoutMs: 60_000 },
  });
  const payee = await given.account(1, '0');
  recipients = [];
  while (recipients.length < RECIPIENTS) recipients.push(await given.near(payee));
  recipients.sort((one, other) => one - other);
});
beforeEach(() => recordAll(world.database));
afterAll(async () => {
  await writers.end();
  await world.close();
});

/** Numbers below a limit, the same for each run with the seed. */
function numbers(from: number): (limit: number) => number {
  let state = from;
  return (limit) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return (state >>> 8) % limit;
  };
}

const count = (counts: Map<number, number>, id: number) => counts.set(id, (counts.get(id) ?? 0) + 1);

/** The turns of a loop. A writer pauses for some of them before its COMMIT, so it depends on no clock. */
class Turns {
  private done = 0;
  private waiting: { readonly until: number; readonly go: () => void }[] = [];

  pass(turns: number): Promise<void> {
    const until = this.done + turns;
    return new Promise((go) => void this.waiting.push({ until, go }));
  }

  end(): void {
    this.done += 1;
    const ready = this.waiting.filter(({ until }) => until <= this.done);
    this.waiting = this.waiting.filter((one) => !ready.includes(one));
    for (const { go } of ready) go();
  }
}

class RolledBack extends Error {}

/** Database transactions that change recipients, and wait with the changes before they end. One of five is rolled back. */
async function write(writer: number, turns: Turns, committed: Map<number, number>): Promise<void> {
  const number = numbers(seed + writer);
  for (let nth = 0; nth < TRANSACTIONS; nth += 1) {
    // In the order of ids, so that two writers do not deadlock.
    const chosen = recipients.filter(() => number(4) === 0);
    const isRolledBack = number(5) === 0;
    const change = writers.transaction({ workspaces: [ada.workspaceId] }, async (tx) => {
      for (const id of chosen) {
        await tx.pipeline([bind(CHANGE, ada.workspaceId, id, `Alias ${writer} ${nth}`)]);
        await turns.pass(number(3));
      }
      if (isRolledBack) throw new RolledBack();
      await tx.commit();
    });
    await change.catch((error: unknown) => {
      if (!(error instanceof RolledBack)) throw error;
    });
    if (!isRolledBack) for (const id of chosen) count(committed, id);
  }
}

/** Records a batch in a session that is ended before its COMMIT. */
async function recordAndDie(): Promise<void> {
  const recording = writers.transaction({}, async (tx) => {
    const [[row]] = await tx.pipeline([bind(RECORD)] as const);
    await world.owner.query('select pg_terminate_backend($1)', [(row as { pid: number }).pid]);
    await tx.commit();
  });
  await expect(recording).rejects.toThrow();
}

/** Reads events as a caller does who follows the cursor: those with an id above the last one. */
function follower() {
  let last = '0';
  const seen: { readonly id: bigint; readonly resource_id: bigint; readonly sequence: number }[] = [];
  return {
    seen,
    async read(): Promise<number> {
      const { rows } = await world.owner.query<(typeof seen)[number]>(
        'select id, resource_id, sequence from event where workspace_id = $1 and id > $2 order by id limit 50',
        [ada.workspaceId, last],
      );
      seen.push(...rows);
      last = (rows.at(-1)?.id ?? last).toString();
      return rows.length;
    },
  };
}

it(`a reader who follows the cursor gets each committed change once, in the order of its resource (seed ${seed})`, async () => {
  const reader = follower();
  while ((await reader.read()) > 0);
  const before = reader.seen.length;
  const [turns, committed] = [new Turns(), new Map<number, number>()];
  let isWriting = true;
  const writing = Promise.all(Array.from({ length: WRITERS }, (_, writer) => write(writer, turns, committed))).finally(
    () => (isWriting = false),
  );
  for (let turn = 0, kills = 0; isWriting || kills < KILLS; turn += 1) {
    const isKill = turn % 10 === 9 && kills < KILLS;
    if (isKill) kills += 1;
    await (isKill ? recordAndDie() : recordChanges(world.database));
    await reader.read();
    turns.end();
  }
  await writing;
  await recordAll(world.database);
  while ((await reader.read()) > 0);

  const read = new Map<number, number>();
  const sequences = new Map<number, number[]>();
  for (const { resource_id: id, sequence } of reader.seen.slice(before)) {
    count(read, Number(id));
    sequences.set(Number(id), [...(sequences.get(Number(id)) ?? []), sequence]);
  }
  expect([...read].sort()).toEqual([...committed].sort());
  expect(committed.size).toBe(RECIPIENTS);
  for (const list of sequences.values()) {
    expect(list).toEqual(list.map((_, index) => list[0]! + index));
  }
});

it('a change that is committed late is recorded late, and a reader of the outbox who compares ids would miss it', async () => {
  const change = (id: number, beforeCommit?: () => Promise<void>) =>
    writers.transaction({ workspaces: [ada.workspaceId] }, async (tx) => {
      await tx.pipeline([bind(CHANGE, ada.workspaceId, id, `Late ${id}`)]);
      await beforeCommit?.();
      await tx.commit();
    });
  const outboxAfter = async (last: bigint) =>
    (await world.owner.query<{ id: bigint }>('select id from change_outbox where id > $1 order by id', [last])).rows;
  let last = 0n;
  await change(recipients[0]!, async () => {
    await change(recipients[1]!);
    const read = await outboxAfter(last);
    expect(read).toHaveLength(1);
    last = read.at(-1)!.id;
    expect(await recordChanges(world.database)).toBe(1);
  });

  expect(await outboxAfter(last)).toEqual([]);
  expect(await recordChanges(world.database)).toBe(1);
});

it('one session records at a time, and another does nothing meanwhile', async () => {
  await writers.transaction({ workspaces: [ada.workspaceId] }, async (tx) => {
    await tx.pipeline([bind(CHANGE, ada.workspaceId, recipients[0], 'One')]);
    await tx.commit();
  });
  await writers.transaction({}, async (tx) => {
    const [[row]] = await tx.pipeline([bind(RECORD)] as const);
    expect(row).toMatchObject({ recorded: 1 });
    expect(await recordChanges(world.database)).toBe(0);
    await tx.commit();
  });

  expect((await world.owner.query('select from change_outbox')).rowCount).toBe(0);
});

it('a batch is bounded by the number of events, and takes at least one statement whole', async () => {
  const { workspaceId } = ada;
  const insert = (length: number) =>
    world.owner.query(
      `insert into change_outbox (changes) select jsonb_agg(jsonb_build_array($1::bigint, 'quote.created', 900000 + n, '{}'::jsonb))
       from generate_series(1, $2::int) n`,
      [workspaceId, length],
    );
  for (const length of [30, 30, 30, 100]) await insert(length);
  const record = async () =>
    (await world.owner.query<{ recorded: number }>('select record_changes(50) as recorded')).rows[0]?.recorded;

  expect([await record(), await record(), await record(), await record()]).toEqual([60, 130, 0, 0]);
});
