import { VERIFIER_ROLE } from '@banking/postgres';
import { until } from '@banking/postgres/testing';
import { stepsOverCells, verifyCells, verifyDeployment } from '@banking/books-proof';
import { verifyPayments } from '@banking/operations/verification';
import { Refusal } from '@banking/domain';
import { INTERWORKSPACE_CHECK } from '@banking/ledger';
import { verificationChannel, type VerificationMessage } from '@banking/operations';
import { readPayoutStop } from '@banking/payouts';
import { type PaidCells, paidCells } from '../testing/paid-cells.js';
import { VerificationOverCells } from './verify-over-cells.js';

let world: PaidCells;

beforeAll(async () => {
  world = await paidCells();
  // A time is settled for the sums of cells when a second has passed.
  for (const cell of ['home', 'b'])
    await until(
      () =>
        world.server.query<{ settled: boolean }>(
          cell,
          `select max(created_at) < now() - interval '1 s' as settled from transfer`,
        ),
      ([row]) => row?.settled === true,
    );
});
afterAll(() => world?.close());

const details = async () => (await verifyCells(world.cells)).findings.map(({ detail }) => detail);
const ACCEPTED = `(select min(transaction_id) from arrival where outcome = 'accepted')`;
const COMPLETED = `(select min(transaction_id) from crossing where status = 'completed')`;
const RESUME = `update payout_stop set resumed_at = now(), resumed_by = 'spec' where resumed_at is null`;
const CROSSING = 'the crossing of transaction \\d+ of workspace \\d+';

describe('payments between cells', () => {
  it('are in order after they have arrived and come back', async () => {
    const states = await world.server.query('home', 'select status, count(*)::int from crossing group by 1 order by 1');

    expect(states).toEqual([
      { status: 'completed', count: 2 },
      { status: 'returned', count: 1 },
    ]);
    expect(await details()).toEqual([]);
  });

  it.each([
    [
      'an arrival of another key',
      'b',
      `insert into arrival select workspace_id, origin_workspace_id, origin_transaction_id, 'ffffffffffff', account_code, currency_id, amount,
         outcome, -1, created_at from arrival where transaction_id = ${ACCEPTED}`,
      [`an arrival lacks ${CROSSING}`],
    ],
    [
      'an arrival that is there twice',
      'b',
      `alter table arrival drop constraint arrival_pkey;
       insert into arrival select workspace_id, origin_workspace_id, origin_transaction_id, key_nonce, account_code, currency_id, amount,
         outcome, -1, created_at from arrival where transaction_id = ${ACCEPTED}`,
      [`${CROSSING} was completed and has 2 accepted arrivals`],
    ],
    [
      'a missing arrival',
      'b',
      `delete from arrival where transaction_id = ${ACCEPTED}`,
      ['are out by -100 USD', `${CROSSING} was completed and has 0 accepted arrivals`],
    ],
    [
      'an arrival of another amount',
      'b',
      `update arrival set amount = amount + 1 where transaction_id = ${ACCEPTED}`,
      ['are out by 1 USD', `${CROSSING} has 100 USD, and its arrival in workspace \\d+ has 101 USD`],
    ],
    [
      'an arrival in another currency',
      'b',
      `update arrival set currency_id = 978 where transaction_id = ${ACCEPTED}`,
      ['are out by -100 USD', `${CROSSING} has 100 USD, and its arrival in workspace \\d+ has 100 EUR`],
    ],
    [
      'an arrival on another account',
      'b',
      `update arrival set account_code = 'BA00' where transaction_id = ${ACCEPTED}`,
      [`${CROSSING} and its arrival in workspace \\d+ name different accounts`],
    ],
    [
      'a lost crossing',
      'home',
      `delete from crossing where transaction_id = ${COMPLETED}`,
      [`an arrival lacks ${CROSSING}`, 'are out by 100 USD'],
    ],
    [
      'a returned crossing with an accepted arrival',
      'home',
      `update crossing set status = 'returned' where transaction_id = ${COMPLETED}`,
      [`${CROSSING} was returned, and an arrival was accepted`, `${CROSSING} was returned, and its arrival accepted`],
    ],
    [
      'a completed crossing with a refused arrival',
      'home',
      `update crossing set status = 'completed' where status = 'returned'`,
      [`${CROSSING} was completed and has 0 accepted arrivals`, `${CROSSING} was completed, and its arrival refused`],
    ],
    [
      'a returned crossing without an arrival',
      'b',
      `delete from arrival where outcome = 'refused'`,
      [`${CROSSING} was returned without a refused arrival`],
    ],
  ])('are reported with %s', async (_what, cell, text, expected) => {
    await world.plant(cell, text);
    try {
      const found = (await details()).sort();

      expect(found).toEqual(expected.map((pattern) => expect.stringMatching(pattern)));
    } finally {
      await world.restore();
    }
    expect(await details()).toEqual([]);
  });

  it('do not hide a difference between two workspaces of one cell', async () => {
    const side = `select max(t.transaction_id) from leg t join account a on a.workspace_id = t.workspace_id and a.id = t.account_id
      where a.kind = 'interworkspace' and t.workspace_id = ${world.ids.get('home two')}`;
    const others = (amount: string) =>
      `update transfer set own_legs[1].amount = own_legs[1].amount ${amount} where own_legs is not null and transaction_id = (${side})`;
    await world.plant('home', others('- 7'));
    try {
      expect(await details()).toEqual([
        `interworkspace accounts of all cells are out by -7 USD: 100 in workspace ${world.ids.get('home')}, -107 in workspace ${world.ids.get('home two')}`,
      ]);
    } finally {
      await world.plant('home', others('+ 7'));
    }
  });

  it('are not taken for missing where a workspace has moved meanwhile to a cell that was added later', async () => {
    const place = (number: number) =>
      world.plant(
        'home',
        `update workspace_place set cell_number = ${number} where workspace_id = ${world.ids.get('b')}`,
      );
    const findings: string[] = [];
    const pass = async () => {
      for await (const step of stepsOverCells(world.cells)) {
        findings.push(...step.findings.map(({ detail }) => detail));
        await place(2);
      }
    };
    try {
      await expect(pass()).rejects.toThrow('lacks the cell 2');
      expect(findings).toEqual([]);
    } finally {
      await place(1);
    }
  });

  it('are compared without those of a workspace that its cell does not serve, which is named', async () => {
    const [home, two, b] = ['home', 'home two', 'b'].map((name) => world.ids.get(name)!);
    await world.plant('home', `update cell_workspace set state = 'gone' where workspace_id = ${home}`);
    await world.plant('b', `delete from arrival where outcome = 'refused'`);
    await world.plant(
      'b',
      `insert into arrival select workspace_id, ${two}, origin_transaction_id, 'ffffffffffff', account_code, currency_id, amount, outcome, -1,
         created_at from arrival where transaction_id = ${ACCEPTED}`,
    );
    try {
      const { findings, leftOut } = await verifyCells(world.cells, { movedWithinMs: 0 });

      expect(leftOut).toEqual([home]);
      expect(findings).toMatchObject([
        { workspaceId: b, detail: expect.stringContaining('an arrival lacks') as string },
      ]);
    } finally {
      await world.plant('home', `update cell_workspace set state = 'open' where workspace_id = ${home}`);
      await world.restore();
    }
  });

  it('are read in steps of any size', async () => {
    expect(await verifyCells(world.cells, { stepRows: 1 })).toEqual({ findings: [], leftOut: [] });
  });
});

describe('the verification of one cell', () => {
  const bookOf = (name: string) => world.cells[name === 'home' ? 0 : 1]!.database;
  const workspacesOf = (name: string) => [...world.ids].filter(([of]) => of.startsWith(name)).map(([, id]) => id);
  const failedChecks = async (name: string) => [
    ...new Set((await verifyPayments(bookOf(name).as(VERIFIER_ROLE), workspacesOf(name))).map(({ check }) => check)),
  ];

  it.each([
    [
      'a crossing of another amount',
      'home',
      `update crossing set amount = amount + 1 where transaction_id = ${COMPLETED}`,
      ['every crossing has its transaction, with its amount and status'],
    ],
    [
      'a crossing that is due after its transaction has ended',
      'home',
      `update crossing set status = 'due' where transaction_id = ${COMPLETED}`,
      ['every crossing has its transaction, with its amount and status', 'every crossing that is due is in the queue'],
    ],
    [
      'a lost crossing whose money has come back',
      'home',
      `delete from crossing where status = 'returned'`,
      ['every payment to another cell that is not completed has its crossing'],
    ],
    [
      'an arrival of another amount than its transaction',
      'b',
      `update arrival set amount = amount + 1 where transaction_id = ${ACCEPTED}`,
      ['every accepted arrival has its transaction, with its amount on its account'],
    ],
    [
      'an arrival on another account than its transaction',
      'b',
      `update arrival set account_code = 'BA00' where transaction_id = ${ACCEPTED}`,
      ['every accepted arrival has its transaction, with its amount on its account'],
    ],
  ])('finds %s', async (_what, cell, text, expected) => {
    expect(await failedChecks(cell)).toEqual([]);
    await world.plant(cell, text);
    try {
      expect((await failedChecks(cell)).sort()).toEqual(expected);
    } finally {
      await world.restore();
    }
  });

  it('leaves the sum over its workspaces to the verification of all cells', async () => {
    const verify = (isCell: boolean) =>
      verifyDeployment(bookOf('home').as(VERIFIER_ROLE), workspacesOf('home'), {
        isWhole: true,
        isCell,
        directoryOf: 'none',
      });

    const alone = await verify(false);
    const { findings, skippedChecks } = await verify(true);

    // Two payments have left home, and one has arrived there.
    expect([...new Set(alone.findings.map(({ check }) => check))]).toEqual([INTERWORKSPACE_CHECK]);
    expect([findings, skippedChecks]).toEqual([[], [INTERWORKSPACE_CHECK]]);
  });
});

describe('the verification of a worker', () => {
  const turns = async (verification: VerificationOverCells) => {
    for (let turn = 0; turn < 3; turn += 1) expect(await verification.verifyNext()).toBe(0);
  };
  const stops = () => Promise.all(world.cells.map(({ database }) => readPayoutStop(database)));

  it('verifies nothing while a database is away', async () => {
    await world.plant('b', `update arrival set amount = amount + 1 where transaction_id = ${ACCEPTED}`);
    await turns(new VerificationOverCells(() => [world.cells[0]!, { ...world.cells[1]!, database: undefined }]));

    expect(await stops()).toEqual([undefined, undefined]);
    await world.restore();
  });

  it('finds nothing in books that are in order', async () => {
    await turns(new VerificationOverCells(() => world.cells));

    expect(await stops()).toEqual([undefined, undefined]);
  });

  describe('while a workspace is served by no cell', () => {
    const received: VerificationMessage[] = [];
    const listen = (message: unknown) => received.push(message as VerificationMessage);
    const setState = (state: string) =>
      world.plant('home', `update cell_workspace set state = '${state}' where workspace_id = ${world.ids.get('home')}`);
    const outcomes = () => [...new Set(received.splice(0).map(({ subject, outcome }) => `${subject} ${outcome}`))];

    beforeAll(async () => {
      verificationChannel.subscribe(listen);
      await setState('gone');
    });
    afterAll(async () => {
      verificationChannel.unsubscribe(listen);
      await setState('open');
      await world.restore();
      for (const name of ['home', 'b']) await world.server.query(name, RESUME);
    });

    it('has no success until the workspace is served', async () => {
      const verification = new VerificationOverCells(() => world.cells);

      await turns(verification);
      expect(outcomes()).toEqual(['cells closed']);
      await setState('open');
      await turns(verification);
      expect(outcomes()).toEqual(['cells proven']);
      await setState('gone');
    });

    it('verifies the others, and stops payouts for a finding', async () => {
      await world.plant(
        'b',
        `insert into arrival select workspace_id, ${world.ids.get('home two')}, origin_transaction_id, 'ffffffffffff', account_code,
           currency_id, amount, outcome, -1, created_at from arrival where transaction_id = ${ACCEPTED}`,
      );

      await turns(new VerificationOverCells(() => world.cells));

      expect(await stops()).toMatchObject([{ workspaceIds: [] }, { workspaceIds: [world.ids.get('b')] }]);
      expect(outcomes()).toEqual(['cells findings', 'cells stopped']);
    });
  });

  it('stops the payouts of all cells for a finding, which each reports with its own workspaces', async () => {
    await world.plant('b', `update arrival set amount = amount + 1 where transaction_id = ${ACCEPTED}`);

    await turns(new VerificationOverCells(() => world.cells));

    expect(await stops()).toMatchObject([{ workspaceIds: [] }, { workspaceIds: [world.ids.get('b')] }]);
    await world.restore();
    for (const name of ['home', 'b']) await world.server.query(name, RESUME);
  });

  it('stops a cell that did not answer as soon as it answers', async () => {
    await world.plant('b', `update arrival set amount = amount + 1 where transaction_id = ${ACCEPTED}`);
    const [home, b] = world.cells;
    const unavailable = () => Promise.reject(new Refusal('unavailable'));
    let isAway = false;
    let isBack = false;
    // It answers until the finding, and not when its payouts are to be stopped.
    const database = new Proxy(b!.database.as(VERIFIER_ROLE), {
      get(target, name, self) {
        if (name === 'as') return () => self as unknown;
        const value: unknown = Reflect.get(target, name, target);
        if (name !== 'pipeline') return typeof value === 'function' ? (value.bind(target) as unknown) : value;
        return (scope: object, statements: readonly object[]) => {
          isAway = isAway || JSON.stringify(statements).includes('findings_of_cell');
          return isAway && !isBack ? unavailable() : target.pipeline(scope, statements as never);
        };
      },
    });
    const verification = new VerificationOverCells(() => [home!, { ...b!, database }]);
    await turns(verification);

    const [atHome, inB] = await stops();
    expect([atHome?.workspaceIds, inB]).toEqual([[], undefined]);

    isBack = true;
    await turns(verification);

    expect(await stops()).toMatchObject([{ workspaceIds: [] }, { workspaceIds: [world.ids.get('b')] }]);
    await world.restore();
    for (const name of ['home', 'b']) await world.server.query(name, RESUME);
  });
});
