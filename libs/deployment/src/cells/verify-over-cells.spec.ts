import { setImmediate } from 'node:timers/promises';
import { cellBooksOf, type CellBooks, verifyCells } from '@banking/books-proof';
import type { Account, Order, TransferAmount, WorkspaceId } from '@banking/domain';
import { readPayoutStop } from '@banking/payouts';
import { administer } from '@banking/postgres/testing';
import { type CellServer, cellServer } from '../testing/cell-server.js';
import { addWorkspaces, type CellProcess, payerOf, startProcess } from '../testing/cell-world.js';
import { VerificationOverCells } from './verify-over-cells.js';

let server: CellServer;
let process: CellProcess;
let ids: Map<string, WorkspaceId>;
let cells: readonly CellBooks[];
const WAIT_MS = 60_000;

beforeAll(async () => {
  server = await cellServer(['b']);
  await server.add('b');
  process = await startProcess(server);
  ids = await addWorkspaces(server, ['home', 'home two', 'b']);
  const [home, b] = [await payerOf(process, ids.get('home')!), await payerOf(process, ids.get('b')!)];
  const two = await payerOf(process, ids.get('home two')!);
  const disabled = await payerOf(process, ids.get('b')!);
  const pay = async (name: string, from: Account, { code }: Account): Promise<Paid> => {
    const scope = { workspaceId: ids.get(name)! };
    const recipient = await process.banking.addInternalRecipient(scope, { accountCode: code! });
    const input = { accountId: from.id, recipientID: recipient.resource.id, type: 'instant' } as const;
    const { resource } = await process.banking.placeOrder(scope, { ...input, amount: '100' as TransferAmount });
    return { scope, order: resource };
  };
  const paid = [
    ...[await pay('home', home.from, b.to), await pay('home', home.from, b.to), await pay('b', b.from, home.to)],
    ...[await pay('home', home.from, two.to), await pay('home', home.from, disabled.to)],
  ];
  const scope = { workspaceId: ids.get('b')! };
  await process.banking.changeAccount(scope, { accountId: disabled.to.id, status: 'disabled' } as never);
  const workers = process.cells.all().map(({ use }) => use!.startWork());
  await untilFinished(paid);
  for (const worker of workers) await worker.stop();
  cells = await Promise.all(process.cells.all().map(({ use }) => cellBooksOf(use!.database)));
  for (const name of ['home', 'b']) {
    await server.query(
      name,
      'create table saved_crossing as table crossing; create table saved_arrival as table arrival',
    );
  }
}, 180_000);
afterAll(async () => {
  await process?.close();
  await server?.close();
});

interface Paid {
  readonly scope: { readonly workspaceId: WorkspaceId };
  readonly order: Order;
}

async function untilFinished(paid: readonly Paid[]): Promise<void> {
  const untilMs = performance.now() + WAIT_MS;
  const isFinished = async ({ scope, order }: Paid) => {
    const { items } = await process.banking.listOrders(scope);
    return items.find(({ id }) => id === order.id)!.edges.executions![0]!.status !== 'pending';
  };
  for (const one of paid) {
    while (!(await isFinished(one))) {
      if (performance.now() > untilMs) throw new Error('a payment was not finished in time');
      await setImmediate();
    }
  }
}

/** Runs SQL with the triggers and foreign keys switched off. */
const plant = (name: string, text: string) =>
  administer(server.connectionOf(name), async (client) => {
    await client.query('set search_path = banking');
    await client.query('set session_replication_role = replica');
    await client.query(text);
  });

const RESTORE = `delete from crossing; insert into crossing table saved_crossing;
  delete from arrival; insert into arrival table saved_arrival`;
const details = async () => (await verifyCells(cells)).map(({ detail }) => detail);
const ACCEPTED = `(select min(transaction_id) from arrival where outcome = 'accepted')`;
const COMPLETED = `(select min(transaction_id) from crossing where status = 'completed')`;
const CROSSING = 'the crossing of transaction \\d+ of workspace \\d+';

describe('payments between cells', () => {
  it('are in order after they have arrived and come back', async () => {
    const states = await server.query('home', 'select status, count(*)::int from crossing group by 1 order by 1');

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
    await plant(cell, text);
    try {
      const found = (await details()).sort();

      expect(found).toEqual(expected.map((pattern) => expect.stringMatching(pattern)));
    } finally {
      await plant(cell, RESTORE);
      await plant(
        'b',
        'alter table arrival drop constraint if exists arrival_pkey, add constraint arrival_pkey primary key (workspace_id, origin_workspace_id, origin_transaction_id, key_nonce)',
      );
    }
    expect(await details()).toEqual([]);
  });

  it('do not hide a difference between two workspaces of one cell', async () => {
    const side = `select max(t.id) from transfer t join account a on a.workspace_id = t.workspace_id and a.id = t.account_id
      where a.kind = 'interworkspace' and t.workspace_id = ${ids.get('home two')}`;
    await plant('home', `update transfer set amount = amount + 7 where id = (${side})`);
    try {
      expect(await details()).toEqual([
        `interworkspace accounts of all cells are out by -7 USD: 100 in workspace ${ids.get('home')}, -107 in workspace ${ids.get('home two')}`,
      ]);
    } finally {
      await plant('home', `update transfer set amount = amount - 7 where id = (${side})`);
    }
  });

  it('are read in steps of any size', async () => {
    expect(await verifyCells(cells, { stepRows: 1 })).toEqual([]);
  });
});

describe('the verification of a worker', () => {
  const turns = async (verification: VerificationOverCells) => {
    for (let turn = 0; turn < 3; turn += 1) expect(await verification.verifyNext()).toBe(0);
  };
  const stops = () => Promise.all(cells.map(({ database }) => readPayoutStop(database)));

  it('verifies nothing while a database is away', async () => {
    await plant('b', `update arrival set amount = amount + 1 where transaction_id = ${ACCEPTED}`);
    await turns(new VerificationOverCells(() => [cells[0]!, { ...cells[1]!, database: undefined }]));

    expect(await stops()).toEqual([undefined, undefined]);
    await plant('b', RESTORE);
  });

  it('finds nothing in books that are in order', async () => {
    await turns(new VerificationOverCells(() => cells));

    expect(await stops()).toEqual([undefined, undefined]);
  });

  it('stops the payouts of all cells for a finding, which each reports with its own workspaces', async () => {
    await plant('b', `update arrival set amount = amount + 1 where transaction_id = ${ACCEPTED}`);

    await turns(new VerificationOverCells(() => cells));

    expect(await stops()).toMatchObject([{ workspaceIds: [] }, { workspaceIds: [ids.get('b')] }]);
    await plant('b', RESTORE);
  });
});
