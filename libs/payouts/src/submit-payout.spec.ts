import { type Database, PROVISIONING_ROLE, SCHEMA } from '@banking/postgres';
import { openDatabase, sql } from '@banking/postgres/testing';
import { listWork } from '@banking/work-queue';
import { releaseParkedWork } from './parked-work.js';
import { readPayoutStop, resumePayouts, stopPayouts } from './payout-stop.js';
import type { RailEvent } from './rail.js';
import { SandboxRail } from './sandbox-rail.js';
import { findEarlierSubmission, type PayoutAttempt } from './submit-payout.js';
import {
  AMOUNT,
  faults,
  Halt,
  NORTH,
  openWorld,
  passTime,
  passTimeHere,
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

describe('submit payout', () => {
  afterAll(async () => {
    expect(await faults(world)).toEqual([]);
  });

  /** The state of transactions and payouts, read without row-level security. */
  async function seen(transactionIds: readonly number[]) {
    const { rows } = await world.owner.query<{
      id: number;
      status: string;
      payout: string;
      tries: number;
      events: string[];
      returns: number;
      submissions: number | null;
      queued: boolean;
    }>(
      `select x.id::int, x.status, p.status as payout, p.tries,
            array(select concat_ws(' ', e.status, e.reason_code) from remittance_event e
                  where e.transaction_id = x.id order by e.id) as events,
            (select count(*)::int from transaction r where r.return_of = x.id) as returns,
            (select submissions from sandbox_rail_payment where key = format('payout-%s-%s-%s', x.workspace_id, x.id, p.key_nonce)) as submissions,
            exists (select from work k where k.subject_id = x.id) as queued
     from transaction x join payout p on p.transaction_id = x.id where x.id = any($1) order by x.id`,
      [transactionIds],
    );
    return rows;
  }

  const IN_TRANSIT = ['ACSP G000', 'ACSP G001'];
  const done = { status: 'completed', payout: 'settled', returns: 0, submissions: 1, queued: false };
  const back = { status: 'failed', payout: 'failed', returns: 1, submissions: 1, queued: false };

  describe('a payout', () => {
    it('is submitted once and credited within ten seconds', async () => {
      const ids = await payOut(world);
      const worker = payoutWorker(world);

      await worker.step();
      expect(await seen(ids)).toMatchObject([{ status: 'pending', payout: 'submitted', tries: 1, events: [] }]);
      await work(world, worker, 10);

      expect(await seen(ids)).toMatchObject([{ ...done, tries: 1, events: [...IN_TRANSIT, 'ACCC'] }]);
    });

    it('is submitted once where several workers share many payouts of several workspaces', async () => {
      const ids = [
        ...(await payOut(world, { count: 20 })),
        ...(await payOut(world, { workspaceId: SOUTH, count: 20 })),
      ];
      const workers = [payoutWorker(world), payoutWorker(world), payoutWorker(world)];

      for (let second = 0; second < 10; second++) {
        await Promise.all(workers.map((worker) => worker.step()));
        await passTime(world, 1_000);
      }
      await work(world, workers[0]!, 0);

      expect(await seen(ids)).toMatchObject(ids.map(() => ({ ...done, tries: 1, events: [...IN_TRANSIT, 'ACCC'] })));
    });

    it('is found by key when an event was lost', async () => {
      const ids = await payOut(world);
      const worker = payoutWorker(world);
      await worker.step();
      await world.owner.query('update sandbox_rail_event set acknowledged = true');

      await passTime(world, 20 * 60_000);
      await worker.step();

      expect(await seen(ids)).toMatchObject([{ ...done, events: [...IN_TRANSIT, 'ACCC'] }]);
    });

    it('is parked and not submitted again when the network no longer has it', async () => {
      const ids = await payOut(world);
      const worker = payoutWorker(world);
      await worker.step();
      await world.owner.query(`delete from sandbox_rail_event; delete from sandbox_rail_payment`);

      for (let tried = 0; tried < 12; tried++) {
        await passTime(world, 20 * 60_000);
        await worker.step();
      }

      expect(await seen(ids)).toMatchObject([{ status: 'pending', payout: 'parked', submissions: null, queued: true }]);
      expect((await listWork(world.database, { isParked: true }))[0]!.reason).toMatch(/^the network no longer has/);
      // A release lets it ask again. Only the bank can say that the payment was never made.
      const parked = { workspaceId: NORTH, kind: 'payout', subjectId: ids[0]! };
      await releaseParkedWork(world.database, parked);
      for (let tried = 0; tried < 12; tried++) {
        await passTime(world, 20 * 60_000);
        await worker.step();
      }
      expect(await seen(ids)).toMatchObject([{ payout: 'parked', submissions: null }]);
      await releaseParkedWork(world.database, parked, undefined, true);
      await work(world, worker, 10);
      expect(await seen(ids)).toMatchObject([done]);
    });
  });

  describe('a payout to an account of the sandbox', () => {
    it.each([
      ['9001', back, ['RJCT AC01']],
      ['9004', back, ['ACSP G000', 'RJCT AC04']],
      ['9011', { status: 'pending', payout: 'submitted', queued: true }, ['ACSP G000', 'ACSP G002']],
      ['9021', done, [...IN_TRANSIT, 'ACCC', 'ACCC']],
      ['9022', done, ['ACCC', 'ACSP G001', 'ACSP G000']],
      ['9023', back, ['ACSP G000', 'RJCT AC04', 'ACCC']],
      ['9024', done, ['ACSP G000', 'ACCC', 'RJCT AC04']],
    ] as const)('has the outcome of the ending %s', async (ending, outcome, events) => {
      const [id] = (await payOut(world)) as [number];

      await work(world, payoutWorker(world, { to: { [id]: `5010012345${ending}` } }), 12);

      expect(await seen([id])).toMatchObject([{ ...outcome, events }]);
    });

    it('is credited after a minute with 9010', async () => {
      const [id] = (await payOut(world)) as [number];
      const worker = payoutWorker(world, { to: { [id]: '50100123459010' } });

      await work(world, worker, 20);
      expect(await seen([id])).toMatchObject([{ status: 'pending', events: IN_TRANSIT }]);
      await work(world, worker, 60);

      expect(await seen([id])).toMatchObject([done]);
    });

    it('is submitted once with 9020, for which the network accepts it without a response', async () => {
      const [id] = (await payOut(world)) as [number];
      let deadline = new AbortController();
      // The deadline expires after the network has accepted the payment.
      const accepting = Object.create(world.database, {
        pipeline: {
          value: async (...[scope, bound]: Parameters<Database['pipeline']>) => {
            const results = await world.database.pipeline(scope, bound);
            if (bound[0]!.statement.name === 'sandbox_submit') deadline.abort();
            return results;
          },
        },
      }) as Database;
      const errors: unknown[] = [];
      const worker = payoutWorker(world, {
        to: { [id]: '50100123459020' },
        rail: new SandboxRail(accepting),
        deadline: () => (deadline = new AbortController()).signal,
        onError: (error) => errors.push(error),
      });

      await worker.step();
      expect(errors).toMatchObject([{ message: 'the network did not answer in time' }]);
      expect(await seen([id])).toMatchObject([{ payout: 'submitting', submissions: 1 }]);
      await passTime(world, 2_000);
      await worker.step();
      expect(await seen([id])).toMatchObject([{ payout: 'submitted', tries: 2, submissions: 1 }]);
      await work(world, worker, 10);

      expect(await seen([id])).toMatchObject([{ ...done, events: [...IN_TRANSIT, 'ACCC'] }]);
    });

    it('is parked after ten tries with 9030, without a return, and is tried again after its release', async () => {
      const [id] = (await payOut(world)) as [number];
      const to: Record<number, string> = { [id]: '50100123459030' };
      const worker = payoutWorker(world, { to });

      for (let tried = 0; tried < 9; tried++) {
        await worker.step();
        await passTime(world, 5 * 60_000);
      }
      expect(await seen([id])).toMatchObject([{ payout: 'submitting', tries: 9 }]);
      await worker.step();

      const parked = { workspaceId: NORTH, kind: 'payout', subjectId: id };
      const reason = 'the sandbox network cannot be reached for this account';
      expect(await seen([id])).toMatchObject([{ status: 'pending', payout: 'parked', tries: 10, submissions: null }]);
      expect(await listWork(world.database, { isParked: true })).toMatchObject([
        { ...parked, state: 'parked', reason },
      ]);
      await passTime(world, 60 * 60_000);
      await worker.step();
      expect(await seen([id])).toMatchObject([{ payout: 'parked', tries: 10 }]);

      to[id] = '50100123456789';
      expect(await releaseParkedWork(world.database, parked)).toBe(true);
      expect(await releaseParkedWork(world.database, parked)).toBe(false);
      await work(world, worker, 10);
      expect(await seen([id])).toMatchObject([{ ...done, tries: 11 }]);
    });
  });

  describe('payouts that always fail', () => {
    it('delay no other payout, and are parked without a return', async () => {
      const ids = await payOut(world, { count: 110 });
      const failingIds = ids.filter((_, index) => index % 11 === 0);
      const to = Object.fromEntries(failingIds.map((id) => [id, '50100123459030']));
      const worker = payoutWorker(world, { to });

      await work(world, worker, 10);
      const [failing, well] = [failingIds, ids.filter((id) => !failingIds.includes(id))];
      expect(await seen(well)).toMatchObject(well.map(() => done));
      for (let tried = 0; tried < 10; tried++) {
        await passTime(world, 5 * 60_000);
        while ((await worker.step()) > 0);
      }

      const isParked = { status: 'pending', payout: 'parked', tries: 10, returns: 0, queued: true };
      expect(await seen(failing)).toMatchObject(failing.map(() => isParked));
    });
  });

  describe('a rejected payout whose money cannot be returned', () => {
    it('is parked with the reason, and delays no event of other payouts', async () => {
      const [stuck] = (await payOut(world, { workspaceId: SOUTH })) as [number];
      const [other] = (await payOut(world)) as [number];
      const worker = payoutWorker(world, { to: { [stuck]: '50100123459004', [other]: '50100123459004' } });
      await worker.step();
      const fill = (amount: bigint) =>
        world.owner.query(
          `begin; set local session_replication_role = replica; update account set balance = ${amount} where id = ${world.accounts[SOUTH]}; commit`,
        );
      const { rows } = await world.owner.query<{ balance: bigint }>('select balance from account where id = $1', [
        world.accounts[SOUTH],
      ]);
      await fill(9_007_199_254_740_991n - AMOUNT + 1n);

      await work(world, worker, 6);
      for (let tried = 0; tried < 12; tried++) {
        await passTime(world, 5 * 60_000);
        await worker.step();
      }

      expect(await seen([stuck])).toMatchObject([{ status: 'pending', payout: 'parked', returns: 0 }]);
      const all = await listWork(world.database, { isParked: true });
      expect(all.find(({ subjectId }) => subjectId === stuck)).toMatchObject({ reason: 'balance_limit_exceeded' });
      expect(await seen([other])).toMatchObject([back]);
      await fill(rows[0]!.balance);
      await releaseParkedWork(world.database, { workspaceId: SOUTH, kind: 'payout', subjectId: stuck });
      await worker.step();
      expect(await seen([stuck])).toMatchObject([back]);
    });
  });
});

const ENDS = [
  ['50100123456789', { status: 'completed', payout: 'settled', returns: 0 }],
  ['50100123459001', { status: 'failed', payout: 'failed', returns: 1 }],
] as const;

describe.each(ENDS)('a payout to %s', (account, end) => {
  afterAll(async () => {
    expect(await faults(world)).toEqual([]);
  });

  /** More than a lease, for our queue only: the network has no event yet when another worker takes over. */
  const LEASE_EXPIRED_MS = 31_000;

  /** Every call at which a worker can be stopped while it submits a payment and receives its events. */
  const PLACES = Array.from({ length: 10 }, (_, index) => index + 1).flatMap((nth) =>
    (['before', 'after'] as const).map((where) => ({ nth, where })),
  );

  async function seen(id: number) {
    const { rows } = await world.owner.query(
      `select x.status, p.status as payout, n.submissions,
            (select count(*)::int from transaction r where r.return_of = x.id) as returns,
            (select count(*)::int from work where subject_id = x.id) as queued,
            (select count(*) - count(distinct e.provider_event) from remittance_event e
             where e.transaction_id = x.id)::int as doubled
     from transaction x join payout p on p.transaction_id = x.id
     left join sandbox_rail_payment n on n.key = format('payout-${NORTH}-%s-%s', x.id, p.key_nonce)
     where x.id = $1`,
      [id],
    );
    return rows;
  }

  /** Starts a worker that stops at a place, and a payout. Resolves when the worker has stopped there, or has finished. */
  async function stoppedAt({ nth, where }: (typeof PLACES)[number], account: string) {
    const [id] = (await payOut(world)) as [number];
    const halt = new Halt(nth, where);
    const books = { ...world.books, database: halt.database(world.database) };
    const rail = halt.rail(new SandboxRail(world.database));
    const to = { [id]: account };
    const stopping = payoutWorker(world, { books, rail, to });
    const run = (async () => {
      await stopping.step();
      await stopping.step();
    })();
    await Promise.race([halt.reached, run]);
    return { id, to, halt, run };
  }

  it.each(PLACES)(
    'is finished by another worker and submitted once when its worker stops $where call $nth, and is not changed when that continues',
    async (place) => {
      const { id, to, halt, run } = await stoppedAt(place, account);
      await passTimeHere(world, LEASE_EXPIRED_MS);
      await work(world, payoutWorker(world, { to }), 12);
      expect(await seen(id)).toEqual([{ ...end, submissions: 1, queued: 0, doubled: 0 }]);

      halt.resume();
      await run;

      // Stopped right before the submission, it may submit again: with the same key, so the network has one payment.
      const [after] = await seen(id);
      expect([1, 2]).toContain((after as { submissions: number }).submissions);
      expect({ ...after, submissions: 1 }).toEqual({ ...end, submissions: 1, queued: 0, doubled: 0 });
    },
  );
});

describe('payout stop', () => {
  const FINDINGS = [
    { check: 'a rule', workspaceId: SOUTH, detail: 'account 7 holds 5' },
    { check: 'a rule', workspaceId: NORTH, detail: 'account 8 holds 5' },
  ];

  let provisioning: Database;

  beforeAll(async () => {
    const { connection } = world;
    provisioning = await openDatabase({ connection, role: PROVISIONING_ROLE, schema: SCHEMA, poolSize: 1 });
  });

  afterEach(resume);

  afterAll(async () => {
    expect(await faults(world)).toEqual([]);
    await provisioning.end();
  });

  async function resume(): Promise<boolean> {
    const stop = await readPayoutStop(world.database);
    return stop !== undefined && resumePayouts(provisioning, stop.id);
  }

  async function seenAll(ids: readonly number[]) {
    const { rows } = await world.owner.query<{ status: string; tries: number; submissions: number | null }>(
      `select p.status, p.tries,
            (select submissions from sandbox_rail_payment where key = format('payout-%s-%s-%s', p.workspace_id, p.transaction_id, p.key_nonce)) as submissions
     from payout p where p.transaction_id = any($1)`,
      [ids],
    );
    return rows;
  }

  const seen = async (id: number) => (await seenAll([id]))[0];

  describe('a stop of payouts', () => {
    it('is open until payouts are resumed, once, and a further stop adds nothing', async () => {
      expect(await readPayoutStop(world.database)).toBeUndefined();

      await stopPayouts(world.database, FINDINGS);
      await stopPayouts(world.database, FINDINGS.slice(1));

      const stop = await readPayoutStop(world.database);
      expect(stop).toMatchObject({ findings: 2, workspaceIds: [SOUTH, NORTH] });
      expect(await resume()).toBe(true);
      expect(await resumePayouts(provisioning, stop!.id)).toBe(false);
      expect(await readPayoutStop(world.database)).toBeUndefined();
      const { rows } = await world.owner.query(
        'select resumed_by = session_user as is_login, findings from payout_stop',
      );
      expect(rows).toEqual([{ is_login: true, findings: FINDINGS }]);
    });

    it('names each workspace once, and none for a finding between workspaces', async () => {
      const detail = 'interworkspace accounts are out by 1 EUR';

      await stopPayouts(world.database, [...FINDINGS, ...FINDINGS, { check: 'a rule', detail }]);

      expect(await readPayoutStop(world.database)).toMatchObject({ findings: 5, workspaceIds: [SOUTH, NORTH] });
    });

    it('counts all findings and stores the first hundred', async () => {
      const findings = Array.from({ length: 101 }, (_, index) => ({ ...FINDINGS[0]!, detail: `account ${index}` }));

      await stopPayouts(world.database, findings);

      const stop = await readPayoutStop(world.database);
      expect(stop).toMatchObject({ findings: 101 });
      const { rows } = await world.owner.query<{ findings: unknown }>(
        'select findings from payout_stop where id = $1',
        [stop!.id],
      );
      expect(rows).toEqual([{ findings: findings.slice(0, 100) }]);
    });

    it('cannot be ended, changed or read in full by the service', async () => {
      await stopPayouts(world.database, FINDINGS);

      for (const text of [
        `update payout_stop set resumed_at = now(), resumed_by = 'x'`,
        'delete from payout_stop',
        'truncate payout_stop',
        'select findings from payout_stop',
        `insert into payout_stop (finding_count, workspace_ids, findings, resumed_at) values (1, '{}', '[]', now())`,
      ]) {
        await expect(world.database.pipeline({}, [sql(text)])).rejects.toThrow('permission denied');
      }
    });

    it('cannot be opened again', async () => {
      await stopPayouts(world.database, FINDINGS);
      await resume();

      const again = world.owner.query('update payout_stop set resumed_at = null, resumed_by = null');

      await expect(again).rejects.toMatchObject({ code: 'BK004' });
    });
  });

  describe('while payouts are stopped', () => {
    beforeEach(() => stopPayouts(world.database, FINDINGS));

    it('a due payout is held without a try, and submitted after they are resumed', async () => {
      const [id] = (await payOut(world)) as [number];
      const worker = payoutWorker(world);
      for (let tried = 0; tried < 12; tried++) {
        await worker.step();
        await passTime(world, 6 * 60_000);
      }

      expect(await seen(id)).toEqual({ status: 'due', tries: 0, submissions: null });
      const held = (await listWork(world.database)).find(({ subjectId }) => subjectId === id);
      expect(held).toMatchObject({ state: 'waiting', tries: 0, delays: 0, reason: 'payouts are stopped' });

      await resume();
      await work(world, worker, 10);
      expect(await seen(id)).toEqual({ status: 'settled', tries: 1, submissions: 1 });
    });

    it('a payout that an earlier try had submitted is recorded and tracked', async () => {
      const [id] = (await payOut(world)) as [number];
      await resume();
      const rail = 'update payout set status = $2 where transaction_id = $1';
      await payoutWorker(world).step();
      await world.owner.query(`alter table payout disable trigger legal_step`);
      await world.owner.query(rail, [id, 'submitting']);
      await world.owner.query(`alter table payout enable trigger legal_step`);
      await stopPayouts(world.database, FINDINGS);

      await passTime(world, 20 * 60_000);
      await work(world, payoutWorker(world), 10);

      expect(await seen(id)).toEqual({ status: 'settled', tries: 1, submissions: 1 });
    });

    it('a payout whose earlier try did not reach the network is not submitted', async () => {
      const [id] = (await payOut(world)) as [number];
      await world.owner.query(`update payout set status = 'submitting', tries = 1 where transaction_id = $1`, [id]);

      await payoutWorker(world).step();

      expect(await seen(id)).toEqual({ status: 'submitting', tries: 1, submissions: null });
      await resume();
      await passTime(world, 6 * 60_000);
      await work(world, payoutWorker(world), 10);
      expect(await seen(id)).toEqual({ status: 'settled', tries: 2, submissions: 1 });
    });

    it('no payout is submitted by any of several workers', async () => {
      const ids = await payOut(world, { count: 20 });
      const workers = [payoutWorker(world), payoutWorker(world)];

      await Promise.all(workers.map((worker) => worker.step()));

      expect(await seenAll(ids)).toEqual(ids.map(() => ({ status: 'due', tries: 0, submissions: null })));
      await resume();
      await passTime(world, 6 * 60_000);
      await work(world, workers[0]!, 10);
      expect(await seenAll(ids)).toMatchObject(ids.map(() => ({ status: 'settled' })));
    });

    it('a held payout that was claimed anew writes nothing for its first claim', async () => {
      const [id] = (await payOut(world)) as [number];
      const claimed = payoutWorker(world, {
        books: {
          ...world.books,
          database: Object.create(world.database, {
            transaction: {
              value: async (...args: Parameters<Database['transaction']>) => {
                await world.owner.query('update work set fence = fence + 1 where subject_id = $1', [id]);
                return world.database.transaction(...args);
              },
            },
          }) as Database,
        },
      });

      await claimed.step();

      const { rows } = await world.owner.query('select reason from work where subject_id = $1', [id]);
      expect(rows).toEqual([{ reason: null }]);
      expect(await seen(id)).toEqual({ status: 'due', tries: 0, submissions: null });
    });
  });
});

const EVENTS: readonly RailEvent[] = [{ providerEvent: 'e1', status: 'ACSP' }];

/** Decides a try, and counts the calls that ask the network. */
async function tried(attempt: Partial<PayoutAttempt>, atNetwork: readonly RailEvent[] | undefined) {
  let asked = 0;
  const find = async () => {
    asked += 1;
    return atNetwork;
  };
  const payout = {
    status: 'submitting',
    tries: 1,
    keyNonce: '0123456789ab',
    isAskedFirst: false,
    isLate: false,
    isAccepted: false,
    ...attempt,
  } as const;
  return { events: await findEarlierSubmission(payout, find), asked };
}

describe('findEarlierSubmission', () => {
  it('does not ask at the first try', async () => {
    expect(await tried({}, EVENTS)).toEqual({ events: undefined, asked: 0 });
  });

  it.each<[string, Partial<PayoutAttempt>]>([
    ['at the second try', { tries: 2 }],
    ['at a late first try', { isLate: true }],
    ['at a first try after a reconciliation', { isAskedFirst: true }],
    ['of a payout that the network accepted', { isAccepted: true }],
  ])('asks once %s', async (_what, attempt) => {
    expect(await tried(attempt, EVENTS)).toEqual({ events: EVENTS, asked: 1 });
  });

  it.each<[string, Partial<PayoutAttempt>]>([
    ['second try', { tries: 2 }],
    ['late first try', { isLate: true }],
  ])('has the payment submitted if the network does not have it at a %s', async (_what, attempt) => {
    expect(await tried(attempt, undefined)).toEqual({ events: undefined, asked: 1 });
  });

  it('fails if the network no longer has a payout that it accepted', async () => {
    await expect(tried({ isAccepted: true }, undefined)).rejects.toThrow(
      'the network no longer has a payment that it had accepted',
    );
  });
});
