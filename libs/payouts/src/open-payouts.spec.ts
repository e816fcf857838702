import { RULE_VIOLATION, SQLSTATE } from '@banking/postgres';
import { sql } from '@banking/postgres/testing';
import { openPayouts, openTracking } from './open-payouts.js';
import { NORTH, SOUTH, openWorld, payOut, type World } from './testing/world.js';
import { recordEvent } from './record-rail-event.js';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

/** The payouts of transactions, read without row-level security. */
async function payoutsOf(...transactionIds: readonly number[]) {
  const { rows } = await world.owner.query(
    `select p.workspace_id::int as workspace, p.transaction_id::int as transaction, p.status, k.kind as work,
            k.due_at <= clock_timestamp() as "isDue"
     from payout p join remittance m using (workspace_id, transaction_id)
     left join work k on (k.workspace_id, k.subject_id) = (p.workspace_id, p.transaction_id)
     where p.transaction_id = any($1) order by 2`,
    [transactionIds],
  );
  return rows;
}

describe('openPayouts', () => {
  it('opens a due payout with its tracking and its work for transactions of several workspaces', async () => {
    const list = [
      { workspaceId: NORTH, transactionId: 900_011 },
      { workspaceId: SOUTH, transactionId: 900_012 },
    ];

    await world.database.pipeline({ workspaces: [NORTH, SOUTH] }, openPayouts(list));

    expect(await payoutsOf(900_011, 900_012)).toEqual([
      { workspace: NORTH, transaction: 900_011, status: 'due', work: 'payout', isDue: true },
      { workspace: SOUTH, transaction: 900_012, status: 'due', work: 'payout', isDue: true },
    ]);
  });

  it('sends nothing without a payout', () => {
    expect(openPayouts([])).toEqual([]);
  });

  it('tracks transactions that another system has submitted, without work', async () => {
    const [transactionId] = (await payOut(world, { open: openTracking })) as [number];

    expect(await payoutsOf(transactionId)).toEqual([
      { workspace: NORTH, transaction: transactionId, status: 'submitted', work: null, isDue: null },
    ]);
  });

  it('writes nothing for a workspace outside the scope', async () => {
    const opening = openPayouts([{ workspaceId: SOUTH, transactionId: 900_013 }]);

    await expect(world.database.pipeline({ workspaces: [NORTH] }, opening)).rejects.toMatchObject({
      code: SQLSTATE.insufficientPrivilege,
    });
    expect(await payoutsOf(900_013)).toEqual([]);
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
  const STEPS: Readonly<Record<string, readonly string[]>> = {
    due: ['due', 'submitting', 'settled', 'failed'],
    submitting: ['submitting', 'submitted', 'parked', 'settled', 'failed'],
    submitted: ['submitted', 'parked', 'settled', 'failed'],
    parked: ['parked', 'due', 'settled', 'failed'],
    settled: [],
    failed: [],
  };
  let id = 800_000;
  const insert = (columns: string, values: string) =>
    world.owner.query(
      `insert into payout (workspace_id, transaction_id, ${columns}) values (${NORTH}, ${id}, ${values})`,
    );
  const step = (change: string) =>
    world.database.pipeline({ workspaces: [NORTH] }, [sql(`update payout set ${change} where transaction_id = ${id}`)]);

  beforeEach(() => {
    id++;
  });

  const pairs = Object.keys(STEPS).flatMap((from) => Object.keys(STEPS).map((to) => [from, to] as const));

  it.each(pairs)('steps from %s to %s only where the table of steps permits it', async (from, to) => {
    const parkedAt = (status: string) => (status === 'parked' ? 'now()' : 'null');
    await insert('status, parked_at', `'${from}', ${parkedAt(from)}`);

    const taken = step(`status = '${to}', parked_at = ${parkedAt(to)}`);

    if (STEPS[from]!.includes(to)) await expect(taken).resolves.toEqual([[]]);
    else await expect(taken).rejects.toMatchObject({ code: RULE_VIOLATION.illegalStep });
  });

  it.each([
    ['tries', 'tries = tries - 1', RULE_VIOLATION.recordChanged],
    ['transaction', 'transaction_id = 8', SQLSTATE.insufficientPrivilege],
  ])('cannot have its %s changed back', async (_what, change, code) => {
    await insert('tries', '3');

    await expect(step(change)).rejects.toMatchObject({ code });
  });

  it('cannot be deleted by the app role or the owner', async () => {
    await payOut(world);

    await expect(world.database.pipeline({ workspaces: [NORTH] }, [sql('delete from payout')])).rejects.toMatchObject({
      code: SQLSTATE.insufficientPrivilege,
    });
    await expect(world.owner.query('delete from payout')).rejects.toMatchObject({ code: RULE_VIOLATION.recordChanged });
  });
});
