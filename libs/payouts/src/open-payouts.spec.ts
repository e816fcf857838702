import { openPayouts, openTracking } from './open-payouts.js';
import { NORTH, SOUTH, openWorld, payOut, sql, type World } from './testing/world.js';
import { recordRailEvent, recordRejection } from './track-remittance.js';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

/** What there is of transactions on their way, seen behind the walls. */
async function onTheWay(...transactionIds: readonly number[]) {
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

describe('Given transactions of several workspaces written in one flight', () => {
  it('When their payouts are opened with them, Then each is tracked, due, and in the queue', async () => {
    const list = [
      { workspaceId: NORTH, transactionId: 900_011 },
      { workspaceId: SOUTH, transactionId: 900_012 },
    ];

    await world.database.flight({ workspaces: [NORTH, SOUTH] }, openPayouts(list));

    expect(await onTheWay(900_011, 900_012)).toEqual([
      { workspace: NORTH, transaction: 900_011, status: 'due', work: 'payout', isDue: true },
      { workspace: SOUTH, transaction: 900_012, status: 'due', work: 'payout', isDue: true },
    ]);
  });

  it('When none of them leaves, Then nothing is sent', () => {
    expect(openPayouts([])).toEqual([]);
  });

  it('When somebody else has handed them over, Then they are tracked and nobody here takes them up', async () => {
    const [transactionId] = (await payOut(world, { open: openTracking })) as [number];

    expect(await onTheWay(transactionId)).toEqual([
      { workspace: NORTH, transaction: transactionId, status: 'submitted', work: null, isDue: null },
    ]);
  });

  it('When the scope does not have the workspace, Then nothing is written', async () => {
    const opening = openPayouts([{ workspaceId: SOUTH, transactionId: 900_013 }]);

    await expect(world.database.flight({ workspaces: [NORTH] }, opening)).rejects.toMatchObject({ code: '42501' });
    expect(await onTheWay(900_013)).toEqual([]);
  });
});

describe('Given a payout on its way', () => {
  it.each([
    ['ACCC', 'settled'],
    ['RJCT', 'failed'],
  ])(
    'When the network says %s as its last word, Then it is %s, and there is nothing left to do',
    async (status, is) => {
      const [transactionId] = (await payOut(world)) as [number];
      const word = { providerEvent: 'e1', status };

      if (status === 'RJCT') await recordRejection(world.books, NORTH, transactionId, word);
      else await recordRailEvent(world.books, NORTH, transactionId, word);

      expect(await onTheWay(transactionId)).toMatchObject([{ status: is, work: null }]);
    },
  );

  it('When the network says that it is on its way, Then its work stays', async () => {
    const [transactionId] = (await payOut(world)) as [number];

    await recordRailEvent(world.books, NORTH, transactionId, { providerEvent: 'e1', status: 'ACSP' });

    expect(await onTheWay(transactionId)).toMatchObject([{ status: 'due', work: 'payout' }]);
  });
});

describe('Given the steps of a payout', () => {
  const STEPS: Readonly<Record<string, readonly string[]>> = {
    due: ['due', 'submitting', 'settled', 'failed'],
    submitting: ['submitting', 'submitted', 'parked', 'settled', 'failed'],
    submitted: ['submitted', 'parked', 'settled', 'failed'],
    parked: ['parked', 'due', 'settled', 'failed'],
    settled: [],
    failed: [],
  };
  let id = 800_000;
  const lay = (columns: string, values: string) =>
    world.owner.query(
      `insert into payout (workspace_id, transaction_id, ${columns}) values (${NORTH}, ${id}, ${values})`,
    );
  const step = (change: string) =>
    world.database.flight({ workspaces: [NORTH] }, [sql(`update payout set ${change} where transaction_id = ${id}`)]);

  beforeEach(() => {
    id++;
  });

  const pairs = Object.keys(STEPS).flatMap((from) => Object.keys(STEPS).map((to) => [from, to] as const));

  it.each(pairs)('When one is %s and shall be %s, Then the table of steps decides', async (from, to) => {
    const parkedAt = (status: string) => (status === 'parked' ? 'now()' : 'null');
    await lay('status, parked_at', `'${from}', ${parkedAt(from)}`);

    const taken = step(`status = '${to}', parked_at = ${parkedAt(to)}`);

    if (STEPS[from]!.includes(to)) await expect(taken).resolves.toEqual([[]]);
    else await expect(taken).rejects.toMatchObject({ code: 'BK004' });
  });

  it.each([
    ['tries', 'tries = tries - 1', 'BK003'],
    ['fence', 'fence = fence - 1', 'BK003'],
    ['transaction', 'transaction_id = 8', '42501'],
  ])('When its %s is put back or elsewhere, Then the database refuses', async (_what, change, code) => {
    await lay('tries, fence', '3, 3');

    await expect(step(change)).rejects.toMatchObject({ code });
  });

  it('When it shall be removed, Then neither the app nor anybody else may', async () => {
    await payOut(world);

    await expect(world.database.flight({ workspaces: [NORTH] }, [sql('delete from payout')])).rejects.toMatchObject({
      code: '42501',
    });
    await expect(world.owner.query('delete from payout')).rejects.toMatchObject({ code: 'BK003' });
  });
});
