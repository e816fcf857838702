import { isDeepStrictEqual } from 'node:util';
import {
  fromBalanceAmount,
  type Order,
  type RecipientId,
  type TransferAmount,
  type WorkspaceId,
} from '@banking/domain';
import { until } from '@banking/postgres/testing';
import { type CellServer, cellServer } from '../testing/cell-server.js';
import { addWorkspaces, type CellProcess, payerOf, startProcess } from '../testing/cell-world.js';

type Payer = Awaited<ReturnType<typeof payerOf>>;

let server: CellServer;
let process: CellProcess;
let workers: { stop(): Promise<void> }[] = [];
let ids: Map<string, WorkspaceId>;
const payers = new Map<string, Payer>();
const CELLS = ['home', 'b', 'c'];

beforeAll(async () => {
  server = await cellServer(['b', 'c']);
  for (const name of ['b', 'c']) await server.add(name);
  process = await startProcess(server);
  ids = await addWorkspaces(server, [...CELLS, 'home two']);
  for (const [name, id] of ids) payers.set(name, await payerOf(process, id));
  workers = process.cells.all().map(({ use }) => use!.startWork());
});
afterAll(async () => {
  for (const worker of workers) await worker.stop();
  await process?.close();
  await server?.close();
});

/** Polls until a value is the expected one, because a worker does the work. */
const eventually = <T>(read: () => Promise<T>, expected: T) =>
  until(read, (value) => isDeepStrictEqual(value, expected));

const scopeOf = (name: string) => ({ workspaceId: ids.get(name)! });
const recipientOf = async (payer: string, payee: string): Promise<RecipientId> => {
  const accountCode = payers.get(payee)!.to.code!;
  return (await process.banking.addInternalRecipient(scopeOf(payer), { accountCode })).resource.id;
};
const pay = async (payer: string, recipientID: RecipientId): Promise<Order> => {
  const input = { accountId: payers.get(payer)!.from.id, recipientID, amount: '100' as TransferAmount } as const;
  return (await process.banking.placeOrder(scopeOf(payer), { ...input, type: 'instant' })).resource;
};
const statesOf = ({ edges }: Order) => edges.executions!.map(({ status }) => status);
const statesNow =
  (payer: string, { id: orderId }: Order) =>
  async () =>
    statesOf(await process.banking.getOrder(scopeOf(payer), { accountId: payers.get(payer)!.from.id, orderId }));
const balanceOf = async (name: string) => {
  const { edges } = await process.banking.getAccount(scopeOf(name), { accountId: payers.get(name)!.to.id });
  return fromBalanceAmount(edges.balances[0]!.amount);
};
const unavailable = { reason: 'unavailable', status: 503, retryAfterSeconds: 1 };
const setState = (cell: string, name: string, state: string) =>
  server.query(cell, `update cell_workspace set state = '${state}' where workspace_id = ${ids.get(name)}`);

describe('a payment between cells', () => {
  it('is pending, then completed, between any two', async () => {
    const orders: [string, Order][] = [];
    const before = new Map<string, bigint>();
    for (const name of CELLS) before.set(name, await balanceOf(name));
    for (const payer of CELLS) {
      for (const payee of CELLS.filter((name) => name !== payer)) {
        const order = await pay(payer, await recipientOf(payer, payee));
        expect(statesOf(order)).toEqual(['pending']);
        orders.push([payer, order]);
      }
    }

    for (const [payer, order] of orders) await eventually(statesNow(payer, order), ['completed']);
    for (const name of CELLS) expect(await balanceOf(name)).toBe(before.get(name)! + 200n);
    for (const cell of CELLS) {
      const [rows] = await server.query<{ crossings: number; arrivals: number }>(
        cell,
        `select (select count(*)::int from crossing where status = 'completed') as crossings,
                (select count(*)::int from arrival where outcome = 'accepted') as arrivals`,
      );
      expect([cell, rows]).toEqual([cell, { crossings: 2, arrivals: 2 }]);
    }
  });

  it('waits while the workspace of the payee is being moved', async () => {
    const recipient = await recipientOf('b', 'c');
    await setState('c', 'c', 'moving');
    const order = await pay('b', recipient);
    const delays = () =>
      server.query('b', `select reason from work where kind = 'crossing' and delays > 0 and tries = 0`);
    await eventually(delays, [{ reason: 'unavailable' }]);
    expect(await statesNow('b', order)()).toEqual(['pending']);

    await setState('c', 'c', 'open');

    await eventually(statesNow('b', order), ['completed']);
  });

  it('is one from the time when the workspace of a payee has left the database, also in a process that paid it before', async () => {
    const recipient = await recipientOf('home', 'home two');
    expect(statesOf(await pay('home', recipient))).toEqual(['completed']);
    expect(statesOf(await pay('home', recipient))).toEqual(['completed']);

    await setState('home', 'home two', 'gone');
    const orders = [await pay('home', recipient), await pay('home', recipient)];
    expect(orders.map(statesOf)).toEqual([['pending'], ['pending']]);

    // The place is that of before, so the payments arrive in the database of the payer.
    await setState('home', 'home two', 'open');
    for (const order of orders) await eventually(statesNow('home', order), ['completed']);
  });
});

describe('a cell that is away', () => {
  it('delays payments to it, and recipients with an account in it cannot be added', async () => {
    const recipient = await recipientOf('b', 'c');
    const before = await balanceOf('c');
    const count = async () => (await server.query('b', 'select from recipient')).length;
    const recipients = await count();
    await server.setAway('c', true);

    await expect(recipientOf('b', 'c')).rejects.toMatchObject(unavailable);
    expect(await count()).toBe(recipients);
    const order = await pay('b', recipient);
    const delays = () =>
      server.query('b', `select reason from work where kind = 'crossing' and delays > 0 and tries = 0`);
    await eventually(delays, [{ reason: 'unavailable' }]);
    expect(await statesNow('b', order)()).toEqual(['pending']);
    // As after many failures.
    const failed = `where kind = 'crossing' and leased_until is null`;
    const later = `update work set delays = 9, due_at = now() + interval '15 minutes' ${failed} returning 1`;
    await until(async () => (await server.query('b', later)).length > 0);

    await server.setAway('c', false);
    await eventually(statesNow('b', order), ['completed']);
    await until(async () => (await balanceOf('c').catch(() => 0n)) === before + 100n);
  });
});

describe('home that is away', () => {
  it('prevents new recipients of other cells, and leaves payments to known accounts', async () => {
    const recipient = await recipientOf('b', 'c');
    await eventually(statesNow('b', await pay('b', recipient)), ['completed']);
    await server.setAway('home', true);
    try {
      const accountCode = payers.get('c')!.from.code!;
      const add = process.banking.addInternalRecipient(scopeOf('b'), { accountCode });
      await expect(add).rejects.toMatchObject(unavailable);
      await eventually(statesNow('b', await pay('b', recipient)), ['completed']);
    } finally {
      await server.setAway('home', false);
    }
  });
});
