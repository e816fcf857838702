import { type AccountId, parseAmount, type RecipientId, type TransferAmount, type WorkspaceId } from '@banking/domain';
import { SANDBOX_ROUTING, sandboxRails } from '@banking/payouts';
import type { Database } from '@banking/postgres';
import { PlanProbe, until } from '@banking/postgres/testing';
import { DEMO_RATES, NO_RATES } from '@banking/reference';
import { claimWork, ResultRecorder, runClaimedWork } from '@banking/work-queue';
import { cancelOrder } from '../orders/change-orders.js';
import { OrderService } from '../orders/order-service.js';
import { placeOrder } from '../orders/place-order.js';
import { openReading } from '../resources/reading.js';
import { orderWorld, type OrderWorld, recipientAbroad, expectBooksInOrder } from '../testing/order-world.js';
import { demoDatabase } from '../testing/test-databases.js';
import { paymentReader, READ_PAYMENTS, refreshStatistics, startBankingWorker, workOf } from './start-banking-worker.js';

let world: Awaited<ReturnType<typeof demoDatabase>>;

describe('start banking worker', () => {
  let northwind: number;

  beforeAll(async () => {
    world = await demoDatabase();
    northwind = world.demo.workspaces['Northwind Trading']!;
  });

  afterAll(() => world.close());

  const orderService = () => new OrderService(world.books, NO_RATES, { rails: SANDBOX_ROUTING });

  /** The transaction of the demo data whose first transfer has this description. */
  async function transactionOf(description: string): Promise<number> {
    const { rows } = await world.owner.query<{ id: bigint }>(
      'select transaction_id as id from transfer where description = $1 limit 1',
      [description],
    );
    return Number(rows[0]!.id);
  }

  describe('the payment of a payout', () => {
    it('has its amount, currency and beneficiary', async () => {
      expect(await paymentReader(world.database)(northwind, await transactionOf('Float for Berlin'))).toEqual({
        amount: parseAmount('18750.00', 'EUR'),
        currency: 'EUR',
        creditor: {
          address: 'Uferstrasse 4, 13357 Berlin',
          country: 'DE',
          bankCountry: 'DE',
          postalAddress: { streetName: 'Uferstrasse', buildingNumber: '4', postCode: '13357', townName: 'Berlin' },
          name: 'Northwind Trading Berlin',
          account: 'DE89370400440532013000',
          routing: { type: 'SWIFT', code: 'DEUTDEFF' },
        },
        description: 'Float for Berlin',
        purpose: 'IR001',
        payoutMethod: 'LOCAL',
      });
    });

    it('has the arriving amount of a conversion', async () => {
      expect(await paymentReader(world.database)(northwind, await transactionOf('Family support'))).toMatchObject({
        amount: parseAmount('207500.00', 'INR'),
        currency: 'INR',
        creditor: {
          ...{ account: '50100123456789', routing: { type: 'IFSC', code: 'HDFC0000001' } },
          ...{ address: '12 Marine Drive, Mumbai', postalAddress: undefined },
        },
      });
    });

    it.each(['Payroll for the month', 'Opening funds'])('is not read for %j', async (words) => {
      const id = await transactionOf(words);
      await expect(paymentReader(world.database)(northwind, id)).rejects.toThrow('is no payout');
    });

    it('is not read for another workspace', async () => {
      const southwind = world.demo.workspaces['Southwind Imports']!;
      const id = await transactionOf('Float for Berlin');
      await expect(paymentReader(world.database)(southwind, id)).rejects.toThrow('is no payout');
    });
  });

  describe('a deployment with a worker', () => {
    const statusOf = async (id: number) => {
      const { rows } = await world.owner.query<{ status: string }>(
        'select status from payout where transaction_id = $1',
        [id],
      );
      return rows[0]!.status;
    };

    const untilStatus = (id: number, status: string) =>
      until(
        () => statusOf(id),
        (found) => found === status,
      );

    /** A payout to Berlin that is due. */
    async function due(): Promise<number> {
      const { rows } = await world.owner.query<{ recipient_id: bigint }>(
        `select recipient_id from transfer where description = 'Float for Berlin' and recipient_id is not null`,
      );
      const { resource } = await placeOrder(
        orderService(),
        { workspaceId: northwind as WorkspaceId, actor: undefined },
        {
          accountId: world.demo.accounts['Northwind Trading EUR'] as AccountId,
          recipientID: Number(rows[0]!.recipient_id) as RecipientId,
          amount: '1000' as TransferAmount,
          type: 'instant',
          purposeCode: 'IR001',
        },
        {},
      );
      return resource.edges.executions![0]!.edges.transaction!.id;
    }

    it('hands a due payout over in a sandbox and has it credited', async () => {
      const id = await due();
      const errors: unknown[] = [];
      const worker = startBankingWorker(world, {
        orders: orderService(),
        rails: sandboxRails,
        onError: (error) => errors.push(error),
      });
      try {
        await untilStatus(id, 'submitted');
        await world.owner.query(`update sandbox_rail_event set due_at = now()`);
        worker.nudge();
        await untilStatus(id, 'settled');
      } finally {
        await worker.stop();
      }

      expect(errors).toEqual([]);
      const all = Object.values(world.demo.workspaces);
      await expectBooksInOrder(world.database, all);
    });

    it('leaves a payout waiting without a network', async () => {
      const id = await due();
      const worker = startBankingWorker(world, { orders: orderService() });
      worker.nudge();
      await worker.stop();

      expect(await statusOf(id)).toBe('due');
    });
  });

  describe('a run that fails for the last time while its order is cancelled', () => {
    it('leaves no work in the queue when it is parked', async () => {
      const scope = { workspaceId: northwind as WorkspaceId, actor: undefined };
      const accountId = world.demo.accounts['Northwind Trading USD'] as AccountId;
      const recipientID = world.demo.recipients['international'] as RecipientId;
      const later = {
        accountId,
        recipientID,
        amount: '250000' as TransferAmount,
        type: 'scheduled',
        purposeCode: 'IR002',
        startAt: '2099-01-01T00:00:00Z',
      } as const;
      const { resource } = await placeOrder(
        new OrderService(world.books, DEMO_RATES, { rails: SANDBOX_ROUTING }),
        scope,
        later,
        {},
      );
      await world.owner.query(
        `update work set due_at = now(), tries = 9 where kind = 'execution' and subject_id = $1`,
        [resource.edges.executions![0]!.id],
      );
      const handler = workOf(world, { orders: orderService(), rails: sandboxRails }).handlers['execution']!;
      const [claim] = await claimWork(world.database, ['execution'], 1);

      await cancelOrder(openReading(world.database), scope, { accountId, orderId: resource.id });
      const failing = { ...handler, run: () => Promise.reject(new Error('out of order')) };
      const recorder = new ResultRecorder(world.database);
      await runClaimedWork({}, recorder, failing, claim!, new AbortController().signal);

      const { rows } = await world.owner.query(`select from work where kind = 'execution' and subject_id = $1`, [
        claim!.subjectId,
      ]);
      expect(rows).toEqual([]);
    });
  });
});

describe('the runs of transactions that get a final status in one statement', () => {
  let orders: OrderWorld;

  beforeAll(async () => {
    orders = await orderWorld();
  });
  afterAll(() => orders.world.close());

  it('have the status of their own transaction each, and a pending one stays pending', async () => {
    const { world, service, ada } = orders;
    const euros = (await service.listProducts({})).find(({ edges }) => edges.currency?.code === 'EUR')!;
    const accountId = await orders.account(euros.id, '10000000');
    const recipientID = await recipientAbroad(service, ada, 'DE89370400440532013000');
    const order = orders.order(accountId, recipientID, { amount: '5000' as never, purposeCode: 'IR001' as never });
    const placing = new OrderService(world.books, NO_RATES, { rails: SANDBOX_ROUTING });
    for (let count = 0; count < 3; count += 1) await placeOrder(placing, ada, order, orders.key());
    const runs = async () => {
      const { rows } = await world.owner.query<{ id: string; status: string; failure_code: string | null }>(
        `select e.transaction_id::text as id, e.status, e.failure_code
         from execution e join customer_order o on (o.workspace_id, o.id) = (e.workspace_id, e.order_id)
         where o.account_id = $1 order by e.transaction_id`,
        [accountId],
      );
      return rows;
    };
    const [paid, rejected, open] = (await runs()).map(({ id }) => id);

    await world.owner.query(
      `update transaction set updated_at = now(),
         status = case id when $1::bigint then 'completed' when $2::bigint then 'failed' else status end
       where id in ($1, $2, $3)`,
      [paid, rejected, open],
    );

    expect(await runs()).toEqual([
      { id: paid, status: 'completed', failure_code: null },
      { id: rejected, status: 'failed', failure_code: 'payout_rejected' },
      { id: open, status: 'pending', failure_code: null },
    ]);
  });
});

/** More than the index searches of one payment read. */
const COST_MAX = 60;

describe('the payment of a workspace with very many recipients', () => {
  let world: Awaited<ReturnType<typeof demoDatabase>>;

  beforeAll(async () => {
    world = await demoDatabase();
  });
  afterAll(() => world.close());

  it('is read with few pages by a plan that was made for few of them', async () => {
    const { rows } = await world.owner.query<{ workspace: string; transaction: string }>(
      `select workspace_id as workspace, transaction_id as transaction from transfer where description = 'Float for Berlin' limit 1`,
    );
    const [{ workspace, transaction }] = rows as [(typeof rows)[number]];
    const probe = await PlanProbe.open(world, READ_PAYMENTS, 'bigint[], bigint[]');
    const values = `array[${workspace}], array[${transaction}]`;
    await probe.cost(values, [Number(workspace)]);
    await world.owner.query(
      `with added as (
         insert into recipient (workspace_id, kind, name, account_code, currency_id, corridor_id, bank_id)
         select workspace_id, kind, name, 'X' || n, currency_id, corridor_id, bank_id
         from (select * from recipient where workspace_id = ${workspace} and kind = 'international' limit 1) r, generate_series(1, 2000) n
         returning workspace_id, id
       )
       insert into beneficiary (workspace_id, recipient_id, data) select workspace_id, id, '{}' from added`,
    );

    const { buffers } = await probe.cost(values, [Number(workspace)]);

    await probe.close();
    expect(buffers).toBeLessThan(COST_MAX);
  });
});

describe('refresh statistics', () => {
  let database: Database;

  beforeEach(async () => {
    world = await demoDatabase();
    database = world.database;
    // Autovacuum would analyze the tables at a time of its own.
    for (const table of ['seal', 'discrepancy'])
      await world.owner.query(`alter table ${table} set (autovacuum_enabled = false)`);
    await world.owner.query('delete from seal');
  });

  afterEach(() => world.close());

  const addSeals = (count: number) =>
    world.owner.query(
      `insert into seal (name, key) select 'seal ' || gen_random_uuid(), sha256('') from generate_series(1, $1)`,
      [count],
    );

  async function rowsKnownOf(table: string): Promise<number> {
    const { rows } = await world.owner.query<{ rows: number }>(
      'select reltuples::int as rows from pg_class where oid = $1::regclass',
      [table],
    );
    return rows[0]!.rows;
  }

  describe('statistics of the planner', () => {
    it('are made for every table with rows, and not made again', async () => {
      await addSeals(10);

      await refreshStatistics(database);

      expect(await rowsKnownOf('seal')).toBe(10);
      expect(await refreshStatistics(database)).toBe(0);
    });

    it('change no option of a table', async () => {
      const options = () =>
        world.owner.query('select relname, reloptions from pg_class where reloptions is not null order by 1');
      const { rows: before } = await options();
      const { rows: tuned } = await world.owner.query<{ relname: string }>(
        `select relname from pg_class where relnamespace = 'banking'::regnamespace and relkind = 'r' and reloptions is not null`,
      );
      await world.owner.query(
        `begin; set local session_replication_role = replica;
         insert into work (workspace_id, kind, subject_id) values (1, 'tuned', 1); commit`,
      );

      await refreshStatistics(database);

      expect(await rowsKnownOf('work')).toBeGreaterThan(0);
      expect(tuned.map(({ relname }) => relname)).toContain('work');
      expect((await options()).rows).toEqual(before);
    });

    it('are not made for an empty table', async () => {
      await refreshStatistics(database);

      expect(await rowsKnownOf('discrepancy')).toBe(-1);
    });

    it('are made again when a table has doubled', async () => {
      await addSeals(10);
      await refreshStatistics(database);
      await addSeals(100);
      expect(await refreshStatistics(database)).toBe(0);

      await addSeals(5_000);
      await refreshStatistics(database);

      expect(await rowsKnownOf('seal')).toBe(5_110);
    });

    it('are made again after the server has lost its counters, as after a crash', async () => {
      await addSeals(10);
      await refreshStatistics(database);
      await addSeals(100);
      await world.owner.query(`select pg_stat_reset()`);

      await refreshStatistics(database);

      expect(await rowsKnownOf('seal')).toBe(110);
    });

    it('are left to the session that makes them', async () => {
      await addSeals(10);
      await world.owner.query('begin');
      await world.owner.query(`select pg_advisory_xact_lock(hashtextextended('banking.statistics', 0))`);

      expect(await refreshStatistics(database)).toBe(0);

      await world.owner.query('rollback');
      expect(await refreshStatistics(database)).toBeGreaterThan(0);
    });

    it('are not made of a table that is locked, and the others are', async () => {
      await addSeals(10);
      await world.owner.query('begin');
      await world.owner.query('lock table seal in access exclusive mode');

      expect(await refreshStatistics(database)).toBeGreaterThan(1);

      await world.owner.query('rollback');
      expect(await rowsKnownOf('seal')).toBe(-1);
      expect(await refreshStatistics(database)).toBe(1);
      expect(await rowsKnownOf('seal')).toBe(10);
    });

    it('are not made in a read-only transaction, as on a standby', async () => {
      await addSeals(10);

      await world.owner.query('begin read only');
      const { rows } = await world.owner.query<{ analyzed: number | null }>('select analyze_next_table(0) as analyzed');
      await world.owner.query('rollback');

      expect(rows[0]!.analyzed).toBeNull();
    });
  });

  describe('a statement that a session has prepared', () => {
    interface Plan {
      readonly 'Plan Rows': number;
      readonly Plans?: readonly Plan[];
    }

    /** The rows that the cached plan expects of the table. */
    async function rowsExpected(statement = `later_seals('')`): Promise<number> {
      const { rows } = await world.owner.query<{ 'QUERY PLAN': readonly [{ readonly Plan: Plan }] }>(
        `explain (format json) execute ${statement}`,
      );
      let plan = rows[0]!['QUERY PLAN'][0].Plan;
      while (plan.Plans) plan = plan.Plans[0]!;
      return plan['Plan Rows'];
    }

    async function genericPlans(): Promise<number> {
      const { rows } = await world.owner.query<{ plans: number }>(
        `select generic_plans::int as plans from pg_prepared_statements where name = 'later_seals'`,
      );
      return rows[0]!.plans;
    }

    it('is planned again after the statistics of its tables were made, without a new connection', async () => {
      await addSeals(10);
      await world.owner.query('prepare later_seals (text) as select count(*) from seal where name > $1');
      await until(async () => {
        await world.owner.query(`execute later_seals('')`);
        return (await genericPlans()) > 0;
      });
      const before = await rowsExpected();
      await addSeals(5_000);
      expect(await rowsExpected()).toBe(before);

      await refreshStatistics(database);

      expect(await rowsExpected()).toBeGreaterThan(1_000);
    });

    it('is planned again also if a vacuum has counted the rows before', async () => {
      const { owner } = world;
      await owner.query('create table banking.grown (kind integer) with (autovacuum_enabled = false)');
      await owner.query('alter table grown owner to banking_owner');
      await owner.query('insert into grown select n from generate_series(1, 4) n');
      await refreshStatistics(database);
      await owner.query('insert into grown select 0 from generate_series(1, 5000)');
      await owner.query('select pg_stat_force_next_flush()');
      await owner.query('vacuum grown');
      await owner.query(`set plan_cache_mode = force_generic_plan`);
      await owner.query('prepare of_kind (integer) as select from grown where kind = $1');
      expect(await rowsExpected('of_kind(0)')).toBe(1);

      await refreshStatistics(database);

      expect(await rowsExpected('of_kind(0)')).toBeGreaterThan(1_000);
      await owner.query('reset plan_cache_mode');
      await owner.query('drop table grown');
    });
  });
});
