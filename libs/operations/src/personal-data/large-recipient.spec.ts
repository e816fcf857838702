import { PlanProbe } from '@banking/postgres/testing';
import { sqlStatement } from '@banking/postgres';
import { personalWorld, type PersonalWorld } from '../testing/personal-world.js';
import { type PersonalDataRow, personalDataPages } from './erase-personal-data.js';
import { UnusedPersonalData } from './unused-personal-data.js';

const PAYMENTS = 1_300;
const RETURNED = 30;
const REQUESTS = 600;
/** Rows of one table that one database transaction erases, with returns. */
const ERASED_MAX = 600;
/** Pages of 8 kB that a call reads for each payment, order or request. */
const BUFFERS_MAX = 12;

let world: PersonalWorld;

beforeAll(async () => {
  world = await personalWorld();
});
afterEach(() => jest.restoreAllMocks());
afterAll(() => world.close());

let markers = 0;
/** A recipient of years ago, with so many payments, orders and requests, whose texts all have a marker. Written past all triggers. */
async function large(
  payments = PAYMENTS,
  requests = REQUESTS,
): Promise<{ readonly id: number; readonly marker: string }> {
  const { owner, workspaceId, accountId } = world;
  markers += 1;
  const marker = `Quxz${String.fromCharCode(96 + markers)}`;
  const id = await world.recipient(marker);
  const values = [workspaceId, id, `For ${marker}`];
  const inMode = async (mode: string) => owner.query(`set session_replication_role = ${mode}`);
  await inMode('replica');
  await owner.query(
    `update recipient set created_at = '2019-01-01Z', updated_at = '2019-01-01Z' where workspace_id = $1 and id = $2`,
    values.slice(0, 2),
  );
  await owner.query(
    `with made as (
       insert into transaction (workspace_id, status, hash, created_at)
       select $1, 'completed', sha256('x'), timestamptz '2020-01-01Z' + (n / 3) * interval '1 second' from generate_series(1, ${payments}) n
       returning id, created_at),
     returned as (
       insert into transaction (workspace_id, status, hash, created_at, return_of)
       select $1, 'completed', sha256('x'), created_at, id from made order by id limit ${RETURNED} returning id, created_at),
     every as (select id, created_at, $2::bigint as recipient_id from made union all select id, created_at, null from returned),
     booked as (
       insert into transfer (workspace_id, transaction_id, account_id, currency_id, direction, amount, type, recipient_id, recipient_digest,
         account_version, balance_after, created_at, description, description_salt, description_digest)
       select $1, e.id, ${accountId}, 978, 'debit', 1, (array['internal', 'spot', 'payout'])[e.id % 3 + 1], e.recipient_id,
         case when e.recipient_id is not null then sha256('x') end, 1000000 + e.id, 0, e.created_at, $3, uuid_send(gen_random_uuid()), sha256('x')
       from every e
       union all
       select $1, e.id, ${accountId}, 978, 'debit', 1, 'fee', e.recipient_id, sha256('x'), 9000000 + e.id, 0, e.created_at, null, null, null
       from every e where e.recipient_id is not null)
     insert into customer_order (workspace_id, account_id, recipient_id, amount, type, status, created_at, description, texts_salt, texts_digest)
     select $1, ${accountId}, $2, 1, 'instant', (array['completed', 'failed', 'cancelled'])[m.id % 3 + 1], m.created_at, $3,
       uuid_send(gen_random_uuid()), sha256('x')
     from made m`,
    values,
  );
  await owner.query(
    `insert into approval (workspace_id, id, operation, operations, request, request_salt, digest, requirements, makers, status, updated_at)
     select $1, nextval('approval_id_seq'), 'changeRecipient', 'recipients', r.request, s.salt, salted_digest(s.salt, array[r.request]), '[{}]',
       '{}', 'rejected', '2020-01-01Z'
     from generate_series(1, ${requests}) n
     cross join lateral (select uuid_send(gen_random_uuid()) as salt, n) s
     cross join (select jsonb_build_object('input', jsonb_build_object('recipientId', $2::bigint, 'alias', $3::text))::text as request) r`,
    values,
  );
  await inMode('origin');
  return { id, marker };
}

/** So many payments of a recipient whose outcome is not known. */
async function pending(recipientId: number, count: number): Promise<void> {
  const { owner, workspaceId, accountId } = world;
  await owner.query('set session_replication_role = replica');
  await owner.query(
    `with made as (
       insert into transaction (workspace_id, status, hash) select $1, 'pending', sha256('x') from generate_series(1, ${count}) n
       returning id, created_at)
     insert into transfer (workspace_id, transaction_id, account_id, currency_id, direction, amount, type, recipient_id, recipient_digest,
       account_version, balance_after, created_at)
     select $1, m.id, ${accountId}, 978, 'debit', 1, 'payout', $2, sha256('x'), 1000000 + m.id, 0, m.created_at from made m`,
    [workspaceId, recipientId],
  );
  await owner.query('set session_replication_role = origin');
}

const named = (id: number) => ({ subject: 'recipient', id, workspaceId: world.workspaceId }) as const;

/** Of each table, the most rows that one database transaction has written last. */
async function mostRowsAtOnce(id: number): Promise<readonly number[]> {
  const { rows } = await world.owner.query<{ most: number }>(
    `select max(c.count)::int as most from (
       select 'transfer' as name, xmin::text, count(*) from transfer where recipient_id = $1 and type <> 'fee' group by xmin::text
       union all select 'order', xmin::text, count(*) from customer_order where recipient_id = $1 group by xmin::text
       union all select 'approval', xmin::text, count(*) from approval
         where recipient_of_request(request, resource_type, resource_id) = $1 group by xmin::text) c
     group by c.name`,
    [id],
  );
  return rows.map(({ most }) => most);
}

/** Makes all accounts wait for another database transaction, as those of a customer who pays, while something is done. */
async function whileAccountsAreLocked<T>(work: () => Promise<T>): Promise<T> {
  const { owner } = world;
  await owner.query('begin');
  await owner.query('select from account for update');
  try {
    return await work();
  } finally {
    await owner.query('rollback');
  }
}

/** Does something after so many database transactions of the operator. */
function afterWrites(count: number, then: () => Promise<unknown>): void {
  const write = world.asOperator.write.bind(world.asOperator);
  let written = 0;
  jest.spyOn(world.asOperator, 'write').mockImplementation((async (...args: Parameters<typeof write>) => {
    if (written === count) await then();
    written += 1;
    return write(...args);
  }) as never);
}

describe('the erasure of a recipient with very many payments', () => {
  it('counts beforehand what it then erases in small database transactions, each row once', async () => {
    const { id, marker } = await large();
    const rows = {
      ...{ customer_order: PAYMENTS, transfer: PAYMENTS + RETURNED, approval: REQUESTS },
      ...{ beneficiary: 1, recipient: 1 },
    };

    expect(await world.erase(named(id), { isDryRun: true })).toEqual({ erased: rows });
    expect(await world.erase(named(id))).toEqual({ erased: rows });
    expect(await world.erase(named(id))).toEqual({ erased: {} });

    expect(await world.tablesWith(marker)).toEqual([]);
    for (const most of await mostRowsAtOnce(id)) expect(most).toBeLessThan(ERASED_MAX);
  });

  it('reads each page from a position, and not the pending payments of others', async () => {
    const { id } = await large();
    const other = await world.recipient('Quxy');
    await pending(other, 3_000);
    const { rows } = await world.owner.query<{ id: bigint }>(
      `select id from transfer where recipient_id = $1 and type = 'internal' order by created_at, id`,
      [id],
    );
    const costs: number[] = [];
    for (const call of [
      'select * from erase_personal_data($1, $2, $3, 0, 500, true, $4, $5)',
      'select * from personal_data_of($1, $2, $3, 500, $4, $5)',
    ]) {
      const statement = sqlStatement(`page.${costs.length}`, call);
      const probe = await PlanProbe.open(world, statement, 'text, bigint, bigint, text, bigint');
      for (const position of [0, rows[20]!.id]) {
        const values = `'recipient', ${world.workspaceId}, ${id}, 'payments', ${position}`;
        // The first execution in a session also reads the catalog.
        await probe.cost(values, [world.workspaceId]);
        costs.push((await probe.cost(values, [world.workspaceId])).buffers);
      }
      await probe.close();
    }

    for (const buffers of costs) expect(buffers).toBeLessThan(500 * BUFFERS_MAX);
  });

  it('makes payments wait only while it archives the recipient', async () => {
    const { id, marker } = await large();
    const { owner } = world;
    afterWrites(1, async () => {
      await owner.query('begin');
      await owner.query('select from account for update');
    });

    const done = await world.erase(named(id)).finally(() => owner.query('rollback'));

    expect(done).toEqual({ erased: expect.objectContaining({ recipient: 1 }) as object });
    expect(await world.tablesWith(marker)).toEqual([]);
  });

  it('ends when it is run again after an interruption', async () => {
    const { id, marker } = await large();
    afterWrites(4, () => Promise.reject(new Error('interrupted')));
    await expect(world.erase(named(id))).rejects.toThrow('interrupted');
    jest.restoreAllMocks();
    expect(await world.tablesWith(marker)).not.toEqual([]);

    await world.erase(named(id));

    expect(await world.tablesWith(marker)).toEqual([]);
  });

  it('states what it has erased when a reason to keep the rest comes up', async () => {
    const { id } = await large();
    const become = async (status: string) => {
      await world.owner.query('set session_replication_role = replica');
      await world.owner.query(
        `update customer_order set status = $2 where id = (select max(id) from customer_order where recipient_id = $1)`,
        [id, status],
      );
      await world.owner.query('set session_replication_role = origin');
    };
    afterWrites(3, () => become('active'));

    const stopped = await world.erase(named(id));

    expect(stopped).toEqual({ kept: ['order_active'], erased: { customer_order: expect.any(Number) as number } });
    await become('completed');
    jest.restoreAllMocks();
    expect(await world.erase(named(id))).toEqual({ erased: expect.objectContaining({ recipient: 1 }) as object });
  });
});

describe('the export of a recipient with very many payments', () => {
  it('has each row once, a page at a time', async () => {
    const { id } = await large();
    const rows: PersonalDataRow[] = [];
    const sizes: number[] = [];
    for await (const page of personalDataPages(world.asOperator, named(id))) {
      rows.push(...page);
      sizes.push(page.length);
    }

    const count = (table: string) => rows.filter((row) => row.table === table).length;
    expect(['transfer', 'customer_order', 'approval', 'beneficiary', 'recipient'].map(count)).toEqual([
      ...[2 * PAYMENTS + RETURNED, PAYMENTS, REQUESTS, 1, 1],
    ]);
    expect(new Set(rows.map((row) => JSON.stringify(row))).size).toBe(rows.length);
    expect(Math.max(...sizes)).toBeLessThan(2 * ERASED_MAX);
  });

  it('has the orders that end between its pages', async () => {
    const { id } = await large();
    const { owner } = world;
    // The first of the index by which they are read, and the last.
    await owner.query('set session_replication_role = replica');
    await owner.query(
      `update customer_order set status = 'active' where recipient_id = $1 and status in ('cancelled', 'failed')`,
      [id],
    );
    const shown: unknown[] = [];
    for await (const page of personalDataPages(world.asOperator, named(id))) {
      shown.push(...page.filter(({ table }) => table === 'customer_order').map(({ row }) => row['id']));
      await owner.query(
        `update customer_order set status = case id % 2 when 0 then 'failed' else 'cancelled' end where recipient_id = $1 and status = 'active'`,
        [id],
      );
    }
    await owner.query('set session_replication_role = origin');

    expect(shown).toHaveLength(PAYMENTS);
    expect(new Set(shown).size).toBe(PAYMENTS);
  });
});

describe('the retention of personal data', () => {
  const KEPT = { paymentsKeptDays: 400, recipientsKeptDays: 400, payersKeptDays: 400 };
  /** So many steps of a pass, or all, as of a worker that has just started. @returns what failed */
  async function pass(stepsMax = 1_000): Promise<readonly string[]> {
    const chore = new UnusedPersonalData(world.asWorker.database, KEPT);
    const failed: string[] = [];
    for (let step = 0; step < stepsMax; step += 1) {
      const done = await chore.eraseBatch().catch((error: Error) => {
        failed.push(error.message);
        return 1;
      });
      if (done === 0) return failed;
    }
    if (stepsMax === 1_000) throw new Error('the pass does not end');
    return failed;
  }

  it('goes on with a recipient that a worker was erasing when it stopped', async () => {
    const { id, marker } = await large();
    await pass(8);
    const { rows } = await world.owner.query('select from recipient where id = $1 and forgotten_at is not null', [id]);
    expect(rows).toHaveLength(1);
    expect(await world.tablesWith(marker)).not.toEqual([]);

    expect(await pass()).toEqual([]);

    expect(await world.tablesWith(marker)).toEqual([]);
    for (const most of await mostRowsAtOnce(id)) expect(most).toBeLessThan(ERASED_MAX);
  });

  it('reports one that fails, and erases the others', async () => {
    const broken = await large(10, 10);
    const other = await large(10, 10);
    await world.owner.query(
      `create trigger fault before update on beneficiary for each row when (old.recipient_id = ${broken.id}) execute function refuse_erasure()`,
    );

    const failed = await pass();
    await world.owner.query('drop trigger fault on beneficiary');

    expect(new Set(failed)).toEqual(
      new Set([`personal data were not erased: recipient ${broken.id} of workspace ${world.workspaceId}`]),
    );
    expect(await world.tablesWith(other.marker)).toEqual([]);
    expect(await world.tablesWith(broken.marker)).not.toEqual([]);
    expect(await pass()).toEqual([]);
    expect(await world.tablesWith(broken.marker)).toEqual([]);
  });

  it('makes no payment wait for the erasure of recipients that were archived long ago', async () => {
    const { id, marker } = await large(10, 10);
    await world.owner.query(`update recipient set forgotten_at = '2020-06-01Z' where id = $1`, [id]);

    expect(await whileAccountsAreLocked(() => pass())).toEqual([]);

    expect(await world.tablesWith(marker)).toEqual([]);
  });
});
