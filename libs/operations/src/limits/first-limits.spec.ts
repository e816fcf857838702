import { type LimitTerms, Refusal, type TransferAmount, type UserId, type WorkspaceId } from '@banking/domain';
import { API_ROLE, SCHEMA } from '@banking/postgres';
import { openDatabase, reasonOf, sql, until } from '@banking/postgres/testing';
import { addGrants, addWorkspace } from '../provisioning/index.js';
import { addTransfers, type AgedWorkspace } from '../testing/aged-workspaces.js';
import { type Member, orderWorld, type OrderWorld, verifyPayments } from '../testing/order-world.js';

const PAYMENTS = 5_000;
const FIRST_ORDER = 1_000_000_000;
const COUNT: LimitTerms = { scope: 'workspace', metric: 'count', per: 'month', value: '1000000' };
const ORDER: LimitTerms = { scope: 'workspace', metric: 'amount', per: 'order', value: '1000000', currency: 'USD' };

let at: OrderWorld;
let places = 0;

beforeAll(async () => {
  at = await orderWorld();
});
afterAll(() => at.world.close());
afterEach(() => jest.restoreAllMocks());

/** A workspace without limits, with payments of this month, each of an order of its administrator. Its books do not add up. */
async function agedPlace() {
  const { owner, provisioning, demo } = at.world;
  const named = { app: 'Northwind Treasury', name: `Aged ${(places += 1)}` };
  const workspaceId = (await addWorkspace(provisioning, 'ops', named)) as WorkspaceId;
  await addGrants(provisioning, 'ops', { workspaceId, email: 'ada@northwind.example', roles: ['admin'] });
  const ada: Member = { workspaceId, actor: demo.users['ada@northwind.example'] as UserId };
  const from = await at.account(1, '10000000', ada);
  const to = await at.near(await at.account(1, '0', ada), ada, ada);
  const aged: AgedWorkspace = {
    ...{ workspaceId, accountId: from, quietAccountId: undefined, recipientId: to, placerId: ada.actor },
  };
  await owner.query('set session_replication_role = replica');
  await addTransfers(at.world, aged, [['payout', 'debit', 'completed']], `date_trunc('month', now(), 'UTC')`, PAYMENTS);
  await owner.query(
    `with paid as (select transaction_id, created_at from transfer where workspace_id = $1 and type = 'payout'),
     placed as (
       insert into customer_order (workspace_id, id, account_id, recipient_id, amount, type, status, placed_by) overriding system value
       select $1, ${FIRST_ORDER} + p.transaction_id, $2, $3, 1, 'instant', 'completed', $4 from paid p)
     insert into execution (workspace_id, order_id, sequence, status, transaction_id, scheduled_at, executed_at)
     select $1, ${FIRST_ORDER} + p.transaction_id, 1000000, 'completed', p.transaction_id, p.created_at, p.created_at from paid p`,
    [workspaceId, from, to, ada.actor],
  );
  await owner.query('reset session_replication_role');
  await owner.query('analyze');
  await owner.query(`select set_config('app.workspaces', $1, false)`, [`{${workspaceId}}`]);
  return {
    ada,
    pay: () => reasonOf(at.service.placeOrder(ada, at.order(from, to, { amount: '1' as TransferAmount }), at.key())),
    limit: (version: number, ...limits: LimitTerms[]) => at.service.replaceLimits(ada, { version, limits }),
    list: () => at.service.getLimits(ada),
    used: async () => (await at.service.getLimits(ada)).limits.map(({ used }) => used),
    async note(rows: number): Promise<boolean | undefined> {
      const { rows: answer } = await owner.query<{ is_done: boolean }>('select note_payments($1, 0, $2) as is_done', [
        workspaceId,
        rows,
      ]);
      return answer[0]?.is_done;
    },
    async noted(): Promise<number> {
      const { rows } = await owner.query<{ count: bigint }>(
        'select count(*) from counted_payment where workspace_id = $1 and roles is not null',
        [workspaceId],
      );
      return Number(rows[0]?.count);
    },
    replace: (version: number, ...limits: string[]) =>
      readsOf(
        `select replace_limits(${workspaceId}, ${version}, array['${limits.join(`', '`)}']::stored_limit[], '[]')`,
      ),
    readsOf: (call: string) => readsOf(call.replace('$1', String(workspaceId))),
  };
}

/** How many rows of payments and of their orders a statement reads. */
async function readsOf(statement: string): Promise<Readonly<Record<string, number>>> {
  const { owner } = at.world;
  await owner.query('begin');
  try {
    // Of this session, and of the transactions before that it has not stated yet.
    const before = await readUntilNow();
    await owner.query(statement);
    const after = await readUntilNow();
    await owner.query('commit');
    return Object.fromEntries([...after].map(([table, read]) => [table, read - (before.get(table) ?? 0)]));
  } catch (error) {
    await owner.query('rollback');
    throw error;
  }
}

async function readUntilNow(): Promise<ReadonlyMap<string, number>> {
  const { rows } = await at.world.owner.query<{ name: string; read: number }>(
    `select relname as name, (seq_tup_read + coalesce(idx_tup_fetch, 0))::int as read
     from pg_stat_xact_user_tables where relname in ('transfer', 'execution', 'customer_order') and schemaname = 'banking'`,
  );
  return new Map(rows.map(({ name, read }) => [name, read]));
}

describe('the first limits of a workspace with many payments', () => {
  it('count them all, which are noted before the lock, some in each database transaction', async () => {
    const { note, noted, readsOf, replace, used } = await agedPlace();
    expect([await note(1_000), await noted()]).toEqual([false, 0]);
    const step = await readsOf('select note_payments($1, 0, 1000)');
    // To find where the step ends, and to note.
    expect(step['transfer']).toBeLessThanOrEqual(2 * 1_000 + 10);
    expect(step['execution']).toBeLessThanOrEqual(1_000);
    expect(step['customer_order']).toBeLessThanOrEqual(1_000);
    const steps: (readonly [boolean | undefined, number])[] = [];
    while (steps.at(-1)?.[0] !== true) steps.push([await note(1_000), await noted()]);
    expect(steps).toEqual([...[2_000, 3_000, 4_000, 5_000].map((count) => [false, count]), [true, 5_000]]);

    const reads = await replace(
      0,
      '(workspace,,,,count,month,1000000,)',
      '(workspace,,,,amount,month,1000000,840)',
      '(role,,admin,,count,month,1000000,)',
    );

    expect([reads['execution'], reads['customer_order']]).toEqual([0, 0]);
    // Once for all limits.
    expect(reads['transfer']).toBeLessThan(2 * PAYMENTS);
    expect(await used()).toEqual(['5000', '5000', '5000']);
  });

  it('count what is paid while they are set, each payment once', async () => {
    const { ada, limit, pay, used } = await agedPlace();
    const { database } = at.world;
    const read = database.read.bind(database);
    const paid: unknown[] = [];
    jest.spyOn(database, 'read').mockImplementation(async (scope, bound) => {
      const row = await read(scope, bound);
      if (bound.statement.name === 'note_payments') paid.push(await pay());
      return row;
    });

    await limit(0, COUNT, { ...COUNT, scope: 'role', role: 'admin' }, { ...COUNT, scope: 'person', userID: ada.actor });

    jest.restoreAllMocks();
    expect(paid).toEqual([undefined, undefined, undefined, undefined]);
    const all = String(PAYMENTS + paid.length);
    expect(await used()).toEqual([all, all, all]);
    expect(await pay()).toBeUndefined();
    expect((await used())[0]).toBe(String(PAYMENTS + paid.length + 1));
  });

  it('are set after a crash between two database transactions, with what is paid after it', async () => {
    const { limit, note, pay, used } = await agedPlace();
    await note(1_000);
    await note(1_000);
    await pay();

    expect(await reasonOf(limit(0, { ...COUNT, value: '0' }))).toBeUndefined();

    expect(await used()).toEqual([String(PAYMENTS + 1)]);
  });

  it('are not set by a request whose time is over, and the next one goes on where it ended', async () => {
    const { ada, limit, list, noted, used } = await agedPlace();
    const { database } = at.world;
    const deadline = new AbortController();
    const read = database.read.bind(database);
    let steps = 0;
    jest.spyOn(database, 'read').mockImplementation(async (scope, bound) => {
      const row = await read(scope, bound);
      steps += Number(bound.statement.name === 'note_payments');
      if (steps === 2) deadline.abort(new Refusal('unavailable'));
      return row;
    });

    const { signal } = deadline;
    expect(await reasonOf(at.service.replaceLimits({ ...ada, signal }, { version: 0, limits: [COUNT] }))).toBe(
      'unavailable',
    );
    expect([steps, await noted(), await list()]).toEqual([
      2,
      2_000,
      expect.objectContaining({ version: 0, limits: [] }),
    ]);

    await limit(0, COUNT);
    expect([steps, await used()]).toEqual([4, [String(PAYMENTS)]]);
  });

  it('are no fault of the trails and events if they were never set after all', async () => {
    const { ada, list, note } = await agedPlace();
    await note(1_000);

    const findings = await verifyPayments(at.world.database, [ada.workspaceId]);

    expect(await list()).toMatchObject({ version: 0, limits: [] });
    // The other findings are of the payments that no service made.
    expect(findings.filter(({ detail }) => /\blimits\b/.test(detail))).toEqual([]);
  });

  it('count what is paid after another list has overtaken a step', async () => {
    const { ada, limit, note, pay, used } = await agedPlace();
    const { owner, connection, database } = at.world;
    const scope = { workspaces: [ada.workspaceId] };
    const stepOf = (version: number) => sql(`select note_payments(${ada.workspaceId}, ${version}, 1000)`);
    const longer = { lockTimeoutMs: 60_000, statementTimeoutMs: 60_000, poolSize: 1 };
    const other = await openDatabase({ connection, role: API_ROLE, schema: SCHEMA, ...longer });
    await note(1_000);
    await owner.query('begin');
    // The step waits for this row.
    await owner.query(
      `insert into counted_payment (workspace_id, transaction_id, created_at)
       select workspace_id, transaction_id, created_at from transfer where workspace_id = $1 and type = 'payout'
       order by created_at desc limit 1`,
      [ada.workspaceId],
    );
    const step = other.read(scope, stepOf(0));
    const waiting = `select from pg_locks l join pg_stat_activity a using (pid) where not l.granted and a.datname = current_database()`;
    await until(async () => (await owner.query(waiting)).rowCount !== 0);

    await limit(0, ORDER);
    await limit(1);
    await pay();
    await database.read(scope, stepOf(2));
    await owner.query('rollback');
    await step;
    await other.end();

    await limit(2, COUNT);
    expect(await used()).toEqual([String(PAYMENTS + 1)]);
  });

  it('are refused by the database while payments of before are not noted', async () => {
    const { note, replace } = await agedPlace();
    const refused = { code: '55000' };
    await expect(replace(0, '(workspace,,,,count,month,1,)')).rejects.toMatchObject(refused);
    await note(1_000);
    await note(1_000);
    await expect(replace(0, '(workspace,,,,count,month,1,)')).rejects.toMatchObject(refused);
  });

  it('need nothing of payments of before if they are on each order, until one of a month joins them', async () => {
    const { limit, noted, pay, used } = await agedPlace();
    await limit(0, ORDER);
    expect(await noted()).toBe(0);
    await pay();

    await limit(1, ORDER, COUNT);

    expect(await used()).toEqual([undefined, String(PAYMENTS + 1)]);
  });

  it('count what was paid while there were none', async () => {
    const { limit, pay, used } = await agedPlace();
    await limit(0, COUNT);
    await limit(1);
    await pay();
    await limit(2, COUNT);
    expect(await used()).toEqual([String(PAYMENTS + 1)]);
  });
});
