import { FINAL_EVENT_TYPES, type RecipientId } from '@banking/domain';
import { OPERATOR_ROLE, bind, type Database, RULE_VIOLATION, SCHEMA, SQLSTATE, sqlStatement } from '@banking/postgres';
import { openDatabase } from '@banking/postgres/testing';
import { readEvents, recordAll } from '../testing/event-world.js';
import { orderWorld, type OrderWorld } from '../testing/order-world.js';
import { OldEvents, recordChanges } from './record-changes.js';

let given: OrderWorld;
let { world, ada, service } = {} as OrderWorld;

beforeAll(async () => {
  given = await orderWorld();
  ({ world, ada, service } = given);
});

afterAll(() => given.world.close());

/** Makes all recorded events so old. */
async function age(days: number): Promise<void> {
  await recordAll(world.database);
  await world.owner.query('alter table event disable trigger append_only');
  await world.owner.query(`update event set created_at = created_at - make_interval(days => $1)`, [days]);
  await world.owner.query('alter table event enable trigger append_only');
}

async function deletePass(keptDays = 30): Promise<void> {
  const old = new OldEvents(world.database, keptDays);
  while ((await old.deleteBatch()) > 0);
}

const eventsOf = async (resource: string, id: number) =>
  (await readEvents(world.owner))
    .filter((event) => event.resource_type === resource && Number(event.resource_id) === id)
    .map(({ type, sequence }) => `${sequence} ${type}`);

async function keptSequence(resource: string, id: number): Promise<number | undefined> {
  const { rows } = await world.owner.query<{ sequence: number }>(
    'select sequence from event_sequence where workspace_id = $1 and resource_type = $2 and resource_id = $3',
    [ada.workspaceId, resource, id],
  );
  return rows[0]?.sequence;
}

async function addRecipient(): Promise<RecipientId> {
  return given.near(await given.account(1, '0'));
}

describe('old events', () => {
  it('are deleted over all workspaces, and the sequence of each resource that goes on continues', async () => {
    const recipientId = await addRecipient();
    await service.changeRecipient(ada, { recipientId, alias: 'Landlord' });
    const archived = await addRecipient();
    await service.deleteRecipient(ada, { recipientId: archived });
    const payer = await given.account(1, '10000');
    const paid = (await service.placeOrder(ada, given.order(payer, recipientId))).resource.id;
    await recordAll(world.database);
    const before = await readEvents(world.owner);
    const last = new Map(before.map((event) => [`${event.resource_type}/${event.resource_id}`, event]));
    await age(31);
    await deletePass();
    expect(await readEvents(world.owner)).toEqual([]);
    expect(await keptSequence('recipient', archived)).toBeUndefined();
    expect(await keptSequence('order', paid)).toBeUndefined();

    // The money of a transaction may come back later.
    const going = [...last.values()].filter(({ type }) => !FINAL_EVENT_TYPES.some((final) => final === type));
    expect(going.map(({ type }) => type)).toContain('transaction.completed');
    await world.owner.query('insert into change_outbox (changes) values ($1)', [
      JSON.stringify(
        going.flatMap(({ workspace_id: workspace, resource_type: resource, resource_id: id }) => {
          const start = [`${workspace}`, `${resource}.${resource === 'transaction' ? 'returned' : 'changed'}`];
          return [1, 2].map(() => [...start, `${id}`, {}]);
        }),
      ),
    ]);
    await recordAll(world.database);
    expect((await readEvents(world.owner)).map(({ sequence }) => sequence)).toEqual(
      going.flatMap(({ sequence }) => [sequence + 1, sequence + 2]),
    );

    await age(31);
    await deletePass();
    expect(await keptSequence('recipient', recipientId)).toBe(4);

    await service.deleteRecipient(ada, { recipientId });
    await recordAll(world.database);
    await age(31);
    await deletePass();
    expect(await keptSequence('recipient', recipientId)).toBeUndefined();
  });

  it('stay for the kept time', async () => {
    const recipientId = await addRecipient();
    await service.deleteRecipient(ada, { recipientId });
    await age(29);
    await deletePass();
    expect(await eventsOf('recipient', recipientId)).toHaveLength(2);

    await deletePass(28);
    expect(await eventsOf('recipient', recipientId)).toEqual([]);
  });

  it('are read in batches, and the next batch continues behind the last', async () => {
    await world.owner.query(
      `insert into event (workspace_id, type, resource_type, resource_id, sequence, changes, actor, created_at)
       select w.id, case when n % 2 = 0 then 'quote.created' else 'account.opened' end, case when n % 2 = 0 then 'quote' else 'account' end,
              800000 + n, 1, '{}', '{"type": "system"}', now() - interval '40 days'
       from workspace w, generate_series(1, 1500) n`,
    );
    const old = new OldEvents(world.database);
    const calls: number[] = [];
    do calls.push(await old.deleteBatch());
    while (calls.at(-1)! > 0);

    expect(await readEvents(world.owner)).toEqual([]);
    expect(calls.length).toBeGreaterThan(3);
  });

  /** Inserts events of quotes, which are recorded in the order of these ages in days. Returns their ids. */
  async function recorded(resourceId: number, ...ages: number[]): Promise<bigint[]> {
    const { rows } = await world.owner.query<{ id: bigint }>(
      `insert into event (workspace_id, type, resource_type, resource_id, sequence, changes, actor, created_at)
       select $1, 'quote.created', 'quote', $2::bigint + n, 1, '{}', '{"type": "system"}', now() - make_interval(days => age)
       from unnest($3::int[]) with ordinality u (age, n) order by n returning id`,
      [ada.workspaceId, resourceId, ages],
    );
    return rows.map(({ id }) => id);
  }

  it('stay behind a younger one until that one is old', async () => {
    await age(31);
    await deletePass();
    const [, second, third] = await recorded(810_000, 40, 29, 40);
    await deletePass();
    expect((await readEvents(world.owner)).map(({ id }) => id)).toEqual([second, third]);

    await age(2);
    await deletePass();
    expect(await readEvents(world.owner)).toEqual([]);
  });

  it('are found without the young ones behind them', async () => {
    const [first] = await recorded(820_000, 40, ...Array.from({ length: 2_000 }, () => 0));
    const read = async () =>
      (
        await world.owner.query<{ rows: number }>(
          `select (seq_tup_read + idx_tup_fetch)::int as rows from pg_stat_xact_user_tables where relid = 'event'::regclass`,
        )
      ).rows[0]!.rows;
    await world.owner.query('begin');
    const before = await read();
    const { rows } = await world.owner.query<{ deleted: bigint }>(
      `select deleted from delete_old_events(30, array['quote.created'], 1000, $1, 0)`,
      [ada.workspaceId],
    );
    const after = await read();
    await world.owner.query('commit');

    expect(rows[0]?.deleted).toBe(1n);
    expect((await readEvents(world.owner)).map(({ id }) => id)).not.toContain(first);
    expect(after - before).toBeLessThan(50);
  });
});

describe('old events of a workspace that is being moved to another cell', () => {
  const setState = (state: string) =>
    world.owner.query('update cell_workspace set state = $2 where workspace_id = $1', [ada.workspaceId, state]);

  it('stay, and those of others are deleted', async () => {
    await world.owner.query(`insert into cell_identity (number, name) values (0, 'home') on conflict do nothing`);
    await world.owner.query(
      'insert into cell_workspace (workspace_id) select id from workspace on conflict do nothing',
    );
    const recipientId = await addRecipient();
    await service.deleteRecipient(ada, { recipientId });
    const elsewhere = await given.near(await given.account(1, '0', given.eve), given.eve, given.eve);
    await service.deleteRecipient(given.eve, { recipientId: elsewhere });
    await age(31);
    await setState('moving');
    await deletePass();
    expect(await eventsOf('recipient', recipientId)).toHaveLength(2);
    expect(await eventsOf('recipient', elsewhere)).toEqual([]);

    await setState('open');
    await deletePass();
    expect(await eventsOf('recipient', recipientId)).toEqual([]);
  });
});

describe('an event', () => {
  const as = async (text: string) => {
    await world.owner.query('begin');
    try {
      await world.owner.query(`set local role banking_api; set local app.workspaces = '{${ada.workspaceId}}'`);
      return await world.owner.query(text);
    } finally {
      await world.owner.query('rollback');
    }
  };

  it.each([
    'insert into event default values',
    'update event set sequence = 9',
    'delete from event',
    'truncate event',
    'select changes from change_outbox',
    'delete from change_outbox',
    "insert into change_outbox (changes) values ('[]')",
  ])('cannot be written by the role of the service: %s', async (text) => {
    await expect(as(text)).rejects.toMatchObject({ code: SQLSTATE.insufficientPrivilege });
  });

  it('is read by its workspace only', async () => {
    await addRecipient();
    await given.account(1, '0', given.eve);
    await recordAll(world.database);
    const { rows } = await as('select distinct workspace_id as id from event');
    expect(rows).toEqual([{ id: BigInt(ada.workspaceId) }]);
  });

  it('is neither changed nor deleted on its first day, by any role', async () => {
    await addRecipient();
    await recordAll(world.database);
    for (const text of ['update event set sequence = 9', 'delete from event', 'truncate event']) {
      await expect(world.owner.query(text)).rejects.toMatchObject({ code: RULE_VIOLATION.recordChanged });
    }
    await expect(deletePass(0)).rejects.toMatchObject({ code: RULE_VIOLATION.recordChanged });
  });
});

describe('commit order', () => {
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

  /** Besides the pool of the world, so that writers do not wait for connections. */
  let writers: Database;
  let recipients: RecipientId[];

  beforeAll(async () => {
    writers = await openDatabase({
      ...{ connection: world.connection, role: OPERATOR_ROLE, schema: SCHEMA, poolSize: WRITERS + 2 },
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
    const writing = Promise.all(
      Array.from({ length: WRITERS }, (_, writer) => write(writer, turns, committed)),
    ).finally(() => (isWriting = false));
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
});

const BATCH = 32;

const READ = `
  select coalesce(sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)), 0)::int as rows from pg_stat_xact_user_tables
  where schemaname = 'banking' and relname in ('execution', 'customer_order', 'event', 'change_outbox')`;

it('recording reads as many rows for each event in a workspace with many orders as in one with few', async () => {
  const { world, service, ada, account, near, key, order } = given;
  const payer = await account(1, '1000000');
  const recipient = await near(await account(1, '0'));
  const place = () =>
    Promise.all(Array.from({ length: BATCH }, () => service.placeOrder(ada, order(payer, recipient), key())));
  /** The rows that are read, for each event that is recorded. */
  const recordBatch = async () => {
    await place();
    await world.owner.query('begin');
    // The counters include those of earlier transactions that the session has not reported yet.
    const before = (await world.owner.query<{ rows: number }>(READ)).rows[0]!.rows;
    const { rows } = await world.owner.query<{ recorded: number }>('select record_changes(10000) as recorded');
    const read = await world.owner.query<{ rows: number }>(READ);
    await world.owner.query('commit');
    expect(rows[0]?.recorded).toBe(6 * BATCH);
    return (read.rows[0]!.rows - before) / (6 * BATCH);
  };
  // As the sessions of the service plan, and whenever a vacuum comes by.
  await world.owner.query('set enable_seqscan = off');
  for (const table of ['execution', 'customer_order', 'event', 'change_outbox']) {
    await world.owner.query(`alter table ${table} set (autovacuum_enabled = false)`);
  }
  await recordAll(world.database);
  const first = await recordBatch();
  for (let nth = 0; nth < 6; nth += 1) await place();
  await recordAll(world.database);
  const last = await recordBatch();

  expect(first).toBeGreaterThan(0);
  expect(last).toBeLessThan(2 * first);
});
