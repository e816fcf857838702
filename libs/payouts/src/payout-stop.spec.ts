import { type Database, PROVISIONING_ROLE, SCHEMA } from '@banking/postgres';
import { sql, openDatabase } from '@banking/postgres/testing';
import { listWork } from '@banking/work-queue';
import { readPayoutStop, resumePayouts, stopPayouts } from './payout-stop.js';
import { payoutWorker, work } from './testing/workers.js';
import { NORTH, faults, openWorld, passTime, payOut, SOUTH, type World } from './testing/world.js';

const FINDINGS = [
  { check: 'a rule', workspaceId: SOUTH, detail: 'account 7 holds 5' },
  { check: 'a rule', workspaceId: NORTH, detail: 'account 8 holds 5' },
];

let world: World;
let provisioning: Database;

beforeAll(async () => {
  world = await openWorld();
  const { connection } = world;
  provisioning = await openDatabase({ connection, role: PROVISIONING_ROLE, schema: SCHEMA, poolSize: 1 });
});
afterEach(resume);
afterAll(async () => {
  expect(await faults(world)).toEqual([]);
  await provisioning.end();
  await world.close();
});

async function resume(): Promise<boolean> {
  const stop = await readPayoutStop(world.database);
  return stop !== undefined && resumePayouts(provisioning, stop.id, 'mia@harbour.example');
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
    expect(await resumePayouts(provisioning, stop!.id, 'bob')).toBe(false);
    expect(await readPayoutStop(world.database)).toBeUndefined();
    const { rows } = await world.owner.query('select resumed_by, findings from payout_stop');
    expect(rows).toEqual([{ resumed_by: 'mia@harbour.example', findings: FINDINGS }]);
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
    const { rows } = await world.owner.query<{ findings: unknown }>('select findings from payout_stop where id = $1', [
      stop!.id,
    ]);
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
