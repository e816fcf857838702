import type { AccountId, RecipientId } from '@banking/domain';
import { type PayoutStop, readPayoutStop, resumePayouts } from '@banking/payouts';
import { keepRows, PlanProbe } from '@banking/postgres/testing';
import { PLAN_BY_ORDER } from '../lists/paged-list.js';
import { orderWorld, type OrderWorld } from '../testing/order-world.js';
import { ContinuousVerification, NEXT_ROWS, verificationChannel } from './verify-continuously.js';

let at: OrderWorld;

/** Runs SQL as the owner with the triggers switched off. */
async function plant(text: string, ...values: readonly unknown[]): Promise<void> {
  await at.world.owner.query('begin');
  await at.world.owner.query('set local session_replication_role = replica');
  await at.world.owner.query(text, [...values]);
  await at.world.owner.query('commit');
}

describe('verify continuously', () => {
  let from: AccountId;
  let to: RecipientId;
  let stops: PayoutStop[];
  let verification: ContinuousVerification;

  let restore: () => Promise<void>;

  beforeAll(async () => {
    at = await orderWorld();
    from = await at.account(1, '100000');
    to = await at.near(await at.account(1, '0'));
    restore = await keepRows(at.world.owner);
  });

  beforeEach(() => {
    stops = [];
    verification = started();
  });

  afterEach(() => restore());
  afterAll(() => at.world.close());

  /** The verification of one worker. */
  const started = () => new ContinuousVerification(at.world.database, (stop) => stops.push(stop));

  /** One order, which posts one transaction. */
  const pay = () => at.service.placeOrder(at.ada, at.order(from, to), at.key());

  async function unverified(): Promise<number> {
    const { rows } = await at.world.owner.query<{ count: number }>(
      'select coalesce(sum(cardinality(transaction_ids)), 0)::int as count from unverified_posting',
    );
    return rows[0]!.count;
  }

  const stop = () => readPayoutStop(at.world.database);

  describe('a run of the verification', () => {
    it('verifies what was posted since the last one', async () => {
      await verification.verifyNew();
      await pay();
      await pay();
      expect(await unverified()).toBe(2);

      await verification.verifyNew();

      expect(await unverified()).toBe(0);
      expect(await stop()).toBeUndefined();
    });

    it.each([
      ['an edited balance', 'update account set balance = balance + 1 where id = $1'],
      ['a deleted transfer', 'delete from transfer where id = (select max(id) from transfer where account_id = $1)'],
      [
        'a swapped hash',
        `update transaction x set hash = y.hash from transaction y
       where x.id = (select max(transaction_id) from transfer where account_id = $1)
         and y.id = (select min(transaction_id) from transfer where account_id = $1)`,
      ],
    ])('stops payouts for %s', async (_what, fault) => {
      await verification.verifyNew();
      await pay();
      await plant(fault, from);

      await verification.verifyNew();

      expect(await stop()).toMatchObject({ workspaceIds: [at.ada.workspaceId] });
      expect(stops).toHaveLength(1);
      expect(await unverified()).toBe(1);
    });

    it('reports a stop once, and again after a restart', async () => {
      await pay();
      await plant('update account set balance = balance + 1 where id = $1', from);

      for (let run = 0; run < 3; run++) await verification.verifyNew();
      await verification.verifyNext();
      expect(stops).toHaveLength(1);
      await started().verifyNew();

      expect(stops).toHaveLength(2);
      expect(stops[1]).toEqual(stops[0]);
    });

    it('goes on where it stopped after the rows are repaired and payouts are resumed', async () => {
      await pay();
      await plant('update account set balance = balance + 1 where id = $1', from);
      await verification.verifyNew();
      const before = await unverified();
      await plant('update account set balance = balance - 1 where id = $1', from);
      await resumePayouts(at.world.provisioning, (await stop())!.id);

      await verification.verifyNew();

      expect(before).toBeGreaterThan(0);
      expect(await unverified()).toBe(0);
      expect(await stop()).toBeUndefined();
    });

    it('stops payouts again if they are resumed before the rows are repaired', async () => {
      await pay();
      await plant('update account set balance = balance + 1 where id = $1', from);
      await verification.verifyNew();
      await resumePayouts(at.world.provisioning, (await stop())!.id);

      await verification.verifyNew();

      expect(await stop()).toBeDefined();
      expect(stops).toHaveLength(2);
    });

    it('verifies a long backlog in runs that double, each transaction once', async () => {
      await verification.verifyNew();
      // The rows refer to verified transactions: only their number matters here.
      await at.world.owner.query(
        `insert into unverified_posting (workspace_ids, transaction_ids)
       select array[t.workspace_id], array[t.transaction_id]
       from (select workspace_id, transaction_id from transfer limit 1) t, generate_series(1, 3300) n`,
      );

      expect([await verification.verifyNew(), await verification.verifyNew()]).toEqual([1_000, 2_000]);
      expect(await unverified()).toBe(300);
      expect(await verification.verifyNew()).toBe(0);

      expect(await unverified()).toBe(0);
    });
  });

  describe('several workers', () => {
    it('verify everything together, without a finding', async () => {
      const workers = [verification, started(), started()];
      for (let round = 0; round < 5; round++) {
        await Promise.all([pay(), pay(), ...workers.map((worker) => worker.verifyNew())]);
        await Promise.all(workers.map((worker) => worker.verifyNext()));
      }
      await verification.verifyNew();

      expect(await unverified()).toBe(0);
      expect(await stop()).toBeUndefined();
    });

    it('open one stop for the same finding, which each of them reports', async () => {
      await pay();
      await plant('update account set balance = balance + 1 where id = $1', from);
      const workers = [verification, started()];

      await Promise.all(workers.map((worker) => worker.verifyNew()));
      for (const worker of workers) await worker.verifyNew();

      const { rows } = await at.world.owner.query('select from payout_stop');
      expect(rows).toHaveLength(1);
      expect(stops).toHaveLength(2);
    });
  });

  describe('the repeated verification', () => {
    const position = async () => {
      const { rows } = await at.world.owner.query(
        'select subject, last_workspace_id::int as workspace, last_id::int as id from verification_position order by 1',
      );
      return rows;
    };

    it.each([
      ['a balance', 'update account set balance = balance + 1 where id = $1'],
      [
        'a balance of an account without a transfer',
        'update account set balance = 5 where version = 0 and kind = $$customer$$ and $1 > 0',
      ],
      [
        'an old transaction',
        `update transfer set amount = amount + 1 where id = (select min(id) from transfer where account_id = $1)`,
      ],
    ])('finds an edit of %s that no new transaction touches', async (_what, fault) => {
      await verification.verifyNew();
      await plant(fault, from);

      await verification.verifyNew();
      expect(await stop()).toBeUndefined();
      await verification.verifyNext();

      expect(await stop()).toBeDefined();
      expect(stops).toHaveLength(1);
    });

    it('reads a range more, and as many rows more as transactions were new', async () => {
      await plant(
        `insert into account (workspace_id, kind, currency_id, product_id, name, type, code)
       select $1, 'customer', 840, 1, 'Many', 'CACC', 'M' || n from generate_series(1, 600) n`,
        at.eve.workspaceId,
      );
      await pay();
      await verification.verifyNew();
      const before = await position();

      // Another process verifies: the next step reads what this one could not.
      await at.world.owner.query(`select pg_advisory_lock(hashtextextended('banking.verification', 0))`);
      await verification.verifyNext();
      expect(await position()).toEqual(before);
      await at.world.owner.query('select pg_advisory_unlock_all()');
      await verification.verifyNext();

      expect((await position())[0]).toEqual({ subject: 'account', workspace: 0, id: 0 });
    });

    it('continues after its last step and begins again at the end', async () => {
      await plant(
        `insert into account (workspace_id, kind, currency_id, product_id, name, type, code)
       select $1, 'customer', 840, 1, 'Many', 'CACC', 'M' || n from generate_series(1, 600) n`,
        at.eve.workspaceId,
      );

      await verification.verifyNext();
      const [first] = await position();
      await verification.verifyNext();

      expect(first).toMatchObject({ subject: 'account', workspace: at.eve.workspaceId });
      expect((first as { id: number }).id).toBeGreaterThan(0);
      expect(await position()).toEqual([
        { subject: 'account', workspace: 0, id: 0 },
        { subject: 'transaction', workspace: 0, id: 0 },
      ]);
      expect(await stop()).toBeUndefined();
    });
  });
});

describe('a step of the repeated verification', () => {
  beforeEach(async () => {
    at = await orderWorld();
  });

  afterEach(() => at.world.close());

  it.each(['account', 'transaction'] as const)(
    'reads a range of the key of each %s, with and without statistics',
    async (table) => {
      const probe = await PlanProbe.open(
        at.world,
        NEXT_ROWS[table],
        'bigint, bigint, bigint, int, bigint[]',
        PLAN_BY_ORDER.statement,
      );
      const workspaces = Object.values(at.world.demo.workspaces);
      const cost = (highest: number, rows: number, scope = workspaces) =>
        probe.cost(`0, 0, ${highest}, ${rows}, '{${String(scope)}}'`, scope);
      await cost(0, 500);
      await plant(
        `insert into account (workspace_id, kind, currency_id, product_id, name, type, code)
       select $1, 'customer', 840, 1, 'Many', 'CACC', 'M' || n from generate_series(1, 20000) n`,
        at.eve.workspaceId,
      );
      await plant(
        `insert into transaction (workspace_id, status, hash)
       select $1, 'completed', decode(repeat('0', 64), 'hex') from generate_series(1, 20000) n`,
        at.eve.workspaceId,
      );
      const before = await cost(1_000_000, 100);
      await at.world.owner.query('analyze');
      const after = await cost(1_000_000, 100);
      // A workspace that is served elsewhere stays in the tables until it is archived.
      const served = workspaces.filter((id) => id !== at.eve.workspaceId);
      const beside = await cost(1_000_000, 500, served);
      await probe.close();

      for (const { buffers, filtered } of [before, after, beside]) expect(buffers + filtered).toBeLessThan(300);
    },
  );
});

describe('the channel of the verification', () => {
  let messages: unknown[];
  const listen = (message: unknown) => void messages.push(message);

  beforeEach(async () => {
    at = await orderWorld();
    messages = [];
    verificationChannel.subscribe(listen);
  });

  afterEach(async () => {
    verificationChannel.unsubscribe(listen);
    await at.world.close();
  });

  it('publishes each run with its outcome, also while payouts are stopped', async () => {
    const from = await at.account(1, '100000');
    const to = await at.near(await at.account(1, '0'));
    const pay = () => at.service.placeOrder(at.ada, at.order(from, to), at.key());
    const verification = new ContinuousVerification(at.world.database);

    await verification.verifyNew();
    await pay();
    await verification.verifyNew();
    await verification.verifyNext();
    await pay();
    await at.world.owner.query('begin');
    await at.world.owner.query('set local session_replication_role = replica');
    await at.world.owner.query('update account set balance = balance + 1 where id = $1', [from]);
    await at.world.owner.query('commit');
    await verification.verifyNew();
    await verification.verifyNew();

    expect(messages).toMatchObject([
      { subject: 'new', outcome: 'proven' },
      { subject: 'new', outcome: 'proven', rows: 1 },
      { subject: 'account', outcome: 'proven', rows: expect.any(Number) },
      { subject: 'transaction', outcome: 'proven', rows: expect.any(Number) },
      { subject: 'new', outcome: 'findings', rows: 0 },
      { subject: 'new', outcome: 'stopped', rows: 0 },
    ]);
  });
});
