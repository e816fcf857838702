import { isLegalStep, PAYOUT_STEPS } from '@banking/domain';
import { API_ROLE, bind, RULE_VIOLATION, SQLSTATE, sqlStatement, WORKER_ROLE } from '@banking/postgres';
import { sql } from '@banking/postgres/testing';
import { claimWork } from '@banking/work-queue';
import { PAYOUT } from './open-payouts.js';
import type { Rail } from './rail.js';
import { releaseParkedWork } from './parked-work.js';
import { recordEvent } from './record-rail-events.js';
import { returnPayout } from './return-payout.js';
import { SandboxRail, SANDBOX_RAIL } from './sandbox-rail.js';
import { PayoutBeginner } from './submit-payout.js';
import {
  AMOUNT,
  faults,
  FEE,
  keyOf,
  NORTH,
  openWorld,
  payOut,
  payoutWorker,
  SOUTH,
  work,
  type World,
} from './testing/world.js';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});

afterAll(() => world.close());

let transactionId: number;

/** The payouts of transactions, read without row-level security. */
async function payoutsOf(...transactionIds: readonly number[]) {
  const { rows } = await world.owner.query(
    `select p.workspace_id::int as workspace, p.transaction_id::int as transaction, p.status, k.kind as work,
            k.due_at <= clock_timestamp() as "isDue"
     from payout p
     left join work k on (k.workspace_id, k.subject_id) = (p.workspace_id, p.transaction_id)
     where p.transaction_id = any($1) order by 2`,
    [transactionIds],
  );
  return rows;
}

describe('a payment that leaves', () => {
  it('has a due payout with its work, in each workspace', async () => {
    const [north] = (await payOut(world)) as [number];
    const [south] = (await payOut(world, { workspaceId: SOUTH, by: 'spot' })) as [number];

    expect(await payoutsOf(north, south)).toEqual([
      { workspace: NORTH, transaction: north, status: 'due', work: 'payout', isDue: true },
      { workspace: SOUTH, transaction: south, status: 'due', work: 'payout', isDue: true },
    ]);
  });

  it('has no work where another system has submitted it', async () => {
    const [transactionId] = (await payOut(world, { isSubmitted: true })) as [number];

    expect(await payoutsOf(transactionId)).toEqual([
      { workspace: NORTH, transaction: transactionId, status: 'submitted', work: null, isDue: null },
    ]);
  });

  it('is submitted by no other system for real money', async () => {
    const setMode = (isSandbox: boolean) =>
      world.owner.query(`set session_replication_role = replica; update deployment_mode set is_sandbox = ${isSandbox};
        set session_replication_role = origin`);
    await setMode(false);

    await expect(payOut(world, { isSubmitted: true })).rejects.toMatchObject({ code: RULE_VIOLATION.sandboxOnly });
    await setMode(true);
  });

  it.each([API_ROLE, WORKER_ROLE])('is the only payout that %s can open', async (role) => {
    const [transactionId] = (await payOut(world)) as [number];
    const text = `insert into payout (workspace_id, transaction_id, rail) values (${NORTH}, ${transactionId}, 'sandbox')`;

    await expect(world.database.as(role).pipeline({ workspaces: [NORTH] }, [sql(text)])).rejects.toMatchObject({
      code: SQLSTATE.insufficientPrivilege,
    });
  });
});

describe('the work of a payout', () => {
  it.each([
    ['ACCC', 'settled'],
    ['RJCT', 'failed'],
  ])('ends with the final status %s, when the payout is %s', async (status, is) => {
    const [transactionId] = (await payOut(world)) as [number];
    const event = { providerEvent: 'e1', status };

    await recordEvent(world.books, NORTH, transactionId, event);

    expect(await payoutsOf(transactionId)).toMatchObject([{ status: is, work: null }]);
  });

  it('stays while the network reports no final status', async () => {
    const [transactionId] = (await payOut(world)) as [number];

    await recordEvent(world.books, NORTH, transactionId, { providerEvent: 'e1', status: 'ACSP' });

    expect(await payoutsOf(transactionId)).toMatchObject([{ status: 'due', work: 'payout' }]);
  });
});

describe('the status of a payout', () => {
  let id = 800_000;
  const insert = (columns: string, values: string) =>
    world.owner.query(
      `insert into payout (workspace_id, transaction_id, rail, ${columns}) values (${NORTH}, ${id}, 'sandbox', ${values})`,
    );
  const step = (change: string) =>
    world.database.pipeline({ workspaces: [NORTH] }, [sql(`update payout set ${change} where transaction_id = ${id}`)]);

  beforeEach(() => {
    id++;
  });

  it.each([
    ['tries', 'tries = tries - 1', RULE_VIOLATION.recordChanged],
    ['transaction', 'transaction_id = 8', SQLSTATE.insufficientPrivilege],
  ])('cannot have its %s changed back', async (_what, change, code) => {
    await insert('tries', '3');

    await expect(step(change)).rejects.toMatchObject({ code });
  });

  it('cannot be deleted by the role of the service or the owner', async () => {
    await payOut(world);

    await expect(world.database.pipeline({ workspaces: [NORTH] }, [sql('delete from payout')])).rejects.toMatchObject({
      code: SQLSTATE.insufficientPrivilege,
    });
    await expect(world.owner.query('delete from payout')).rejects.toMatchObject({ code: RULE_VIOLATION.recordChanged });
  });
});

describe('a payout in the database', () => {
  const STATES = Object.keys(PAYOUT_STEPS);

  beforeAll(async () => {
    [transactionId] = (await payOut(world)) as [number];
  });

  /** Makes the step in a database transaction that is rolled back. */
  async function step(from: string, to: string): Promise<void> {
    const set = async (status: string) =>
      world.owner.query(
        `update payout set status = $1, tries = tries + 1, parked_at = case when $1 = 'parked' then now() end where transaction_id = $2`,
        [status, transactionId],
      );
    const ended = new Map([
      ['settled', 'completed'],
      ['failed', 'failed'],
    ]);
    await world.owner.query('begin');
    try {
      await world.owner.query('set local session_replication_role = replica');
      await set(from);
      await world.owner.query('update transaction set status = $1 where id = $2', [
        ended.get(to) ?? 'pending',
        transactionId,
      ]);
      await world.owner.query('set local session_replication_role = origin');
      await set(to);
    } finally {
      await world.owner.query('rollback');
    }
  }

  it.each(STATES.flatMap((from) => STATES.filter((to) => to !== from).map((to) => [from, to] as const)))(
    'takes the step from %s to %s if the state table has it, and else refuses it',
    async (from, to) => {
      if (isLegalStep(PAYOUT_STEPS, from, to)) return expect(step(from, to)).resolves.toBeUndefined();
      await expect(step(from, to)).rejects.toMatchObject({ code: RULE_VIOLATION.illegalStep });
    },
  );

  it('has the states of the table only', async () => {
    await expect(step('unknown', 'due')).rejects.toMatchObject({ code: SQLSTATE.checkViolation });
  });
});

describe('return payout', () => {
  afterAll(async () => {
    expect(await faults(world)).toEqual([]);
  });

  beforeEach(async () => {
    [transactionId] = (await payOut(world)) as [number];
  });

  afterEach(() => world.owner.query('delete from work'));

  const NOTE = 'no network serves India';
  const noted = jest.fn();
  const NOTHING = sqlStatement('note_nothing', 'select');

  const give = ({ rail = undefined as Rail | undefined, workspaceId = NORTH } = {}) =>
    returnPayout(world.books, {
      ...{ workspaceId, transactionId, note: NOTE, rails: new Map(rail ? [[SANDBOX_RAIL, rail]] : []) },
      noteChanges: (changes) => {
        noted(changes);
        return bind(NOTHING);
      },
    });

  const one = async (sql: string): Promise<Record<string, unknown> | undefined> =>
    (await world.owner.query<Record<string, unknown>>(sql, [transactionId])).rows[0];

  const balance = async () =>
    (await world.owner.query<{ balance: bigint }>('select balance from account where id = $1', [world.accounts[NORTH]]))
      .rows[0]!.balance;

  const state = async () => ({
    ...(await one(`select x.status, p.status as payout, p.reason from transaction x join payout p on p.transaction_id = x.id
                 where x.id = $1`)),
    isQueued: (await one(`select from work where kind = '${PAYOUT}' and subject_id = $1`)) !== undefined,
    returns: (await one('select count(*)::int as number from transaction where return_of = $1'))?.['number'],
  });

  const begin = async () => {
    const claims = await claimWork(world.database, [PAYOUT], new Map([[SANDBOX_RAIL, 9]]));
    const claim = claims.find(({ subjectId }) => subjectId === transactionId);
    await new PayoutBeginner(world.database).begin(claim!);
  };

  /** As a worker does after its last try. */
  const park = () =>
    world.owner.query(`
      update work set parked_at = now(), leased_until = null where subject_id = ${transactionId};
      update payout set status = 'parked', parked_at = now() where transaction_id = ${transactionId}`);

  const beginAndPark = async () => {
    await begin();
    await park();
  };

  const WAITING = { status: 'pending', payout: 'due', reason: null, isQueued: true, returns: 0 };

  describe('the return of a payout that was never submitted', () => {
    it('gives back the full debit without the fee, and ends payout, transaction and work', async () => {
      const before = await balance();
      noted.mockClear();

      const outcome = await give();

      expect(outcome).toEqual({ returnId: expect.any(Number) });
      expect(await balance()).toBe(before + AMOUNT);
      expect(await state()).toEqual({ status: 'failed', payout: 'failed', reason: NOTE, isQueued: false, returns: 1 });
      expect(
        await one(`select r.status, t.direction, t.amount, t.type from transaction r join transfer t on t.transaction_id = r.id
                 where r.return_of = $1`),
      ).toEqual({ status: 'completed', direction: 'credit', amount: AMOUNT, type: 'return' });
      expect(
        await one(`select amount from transfer where transaction_id = $1 and type = 'fee' and direction = 'debit'`),
      ).toEqual({ amount: FEE });
      expect(noted.mock.calls).toEqual([
        [[{ workspaceId: NORTH, operation: 'returnPayout', resource: { type: 'transaction', id: transactionId } }]],
      ]);
    });

    it('gives back what a conversion took', async () => {
      [transactionId] = (await payOut(world, { by: 'spot' })) as [number];
      const before = await balance();

      await give();

      expect(await balance()).toBe(before + AMOUNT);
    });

    it('happens once, also if three operators do it at once', async () => {
      const before = await balance();
      const outcomes = await Promise.all([give(), give(), give()]);

      expect(outcomes.filter((outcome) => outcome === 'final')).toHaveLength(2);
      expect(await balance()).toBe(before + AMOUNT);
      expect(await give()).toBe('final');
    });

    it('is never submitted by a worker that has claimed it', async () => {
      const [claim] = await claimWork(world.database, [PAYOUT], new Map([[SANDBOX_RAIL, 1]]));

      expect(await give()).toEqual({ returnId: expect.any(Number) });

      await expect(new PayoutBeginner(world.database).begin(claim!)).rejects.toThrow('the claim is lost');
      expect(await new SandboxRail(world.database).find(await keyOf(world, transactionId))).toBeUndefined();
    });

    it('also ends one that is parked, once the network has said that it does not have it', async () => {
      const before = await balance();
      await beginAndPark();

      expect(await give({ rail: new SandboxRail(world.database) })).toEqual({ returnId: expect.any(Number) });

      expect(await balance()).toBe(before + AMOUNT);
      expect(await state()).toEqual({ status: 'failed', payout: 'failed', reason: NOTE, isQueued: false, returns: 1 });
    });

    it('opens a discrepancy if a network reports a credit of it later', async () => {
      await give();

      await recordEvent(world.books, NORTH, transactionId, { providerEvent: 'late', status: 'ACCC' });

      expect(await one('select kind from discrepancy where transaction_id = $1')).toEqual({
        kind: 'rejected_then_credited',
      });
    });
  });

  describe('a payout is not returned', () => {
    it('of another workspace, or without a payout', async () => {
      expect(await give({ workspaceId: SOUTH })).toBe('not_found');
      transactionId += 1_000_000;
      expect(await give()).toBe('not_found');
    });

    it.each(['ACCC', 'RJCT'])('after the final status %s', async (status) => {
      await recordEvent(world.books, NORTH, transactionId, { providerEvent: 'final', status });
      const [before, was] = [await balance(), await state()];

      expect(await give()).toBe('final');

      expect([await balance(), await state()]).toEqual([before, was]);
    });

    it('once a worker has begun to submit it, until it is parked and the network is asked', async () => {
      const rail = new SandboxRail(world.database);
      const before = await balance();
      await begin();
      expect(await give({ rail })).toBe('outcome_unknown');

      await park();
      expect(await give()).toBe('outcome_unknown');
      await releaseParkedWork(world.database, { workspaceId: NORTH, kind: PAYOUT, subjectId: transactionId });

      expect(await give({ rail })).toBe('outcome_unknown');
      expect([await balance(), (await state()).returns]).toEqual([before, 0]);
    });

    it('that is tried and parked again while the network is asked', async () => {
      await beginAndPark();
      const sandbox = new SandboxRail(world.database);
      const rail: Rail = Object.assign(new SandboxRail(world.database), {
        find: async (key: string) => {
          const found = await sandbox.find(key);
          await releaseParkedWork(world.database, { workspaceId: NORTH, kind: PAYOUT, subjectId: transactionId });
          await beginAndPark();
          return found;
        },
      });

      expect(await give({ rail })).toBe('outcome_unknown');

      expect(await state()).toMatchObject({ status: 'pending', payout: 'parked', returns: 0 });
    });

    it('that is parked and that the network has, or had accepted', async () => {
      const rail = new SandboxRail(world.database);
      await beginAndPark();
      await recordEvent(world.books, NORTH, transactionId, { providerEvent: 'first', status: 'ACSP' });
      expect(await rail.find(await keyOf(world, transactionId))).toBeUndefined();
      expect(await give({ rail })).toBe('outcome_unknown');

      [transactionId] = (await payOut(world)) as [number];
      await beginAndPark();
      const payment = {
        ...{ key: await keyOf(world, transactionId), amount: AMOUNT, currency: 'USD' },
        creditor: { name: 'Ravi Menon', account: '50100123456789' },
      };
      await rail.submit(payment, new AbortController().signal);
      expect(await give({ rail })).toBe('outcome_unknown');
    });

    it('that is submitted', async () => {
      [transactionId] = (await payOut(world, { isSubmitted: true })) as [number];

      expect(await give()).toBe('outcome_unknown');
    });

    it('that the network has and restored books do not know to be submitted', async () => {
      const rail = new SandboxRail(world.database);
      const payment = {
        ...{ key: await keyOf(world, transactionId), amount: AMOUNT, currency: 'USD' },
        creditor: { name: 'Ravi Menon', account: '50100123456789' },
      };
      await rail.submit(payment, new AbortController().signal);

      expect(await give({ rail })).toBe('outcome_unknown');

      expect(await state()).toEqual(WAITING);
    });

    it('before the network has answered', async () => {
      const rail: Rail = Object.assign(new SandboxRail(world.database), {
        find: () => Promise.reject(new Error('unreachable')),
      });

      await expect(give({ rail })).rejects.toThrow('unreachable');

      expect(await state()).toEqual(WAITING);
      await work(world, payoutWorker(world), 8);
      expect(await state()).toMatchObject({ status: 'completed', payout: 'settled' });
    });
  });
});
