import type { Account, ProductId, RecipientId, TransferAmount, WorkspaceId } from '@banking/domain';
import { openBooks } from '@banking/ledger';
import { OrderService, startBankingWorker } from '@banking/operations';
import { recipientAbroad } from '@banking/operations/testing';
import { SANDBOX_ROUTING, sandboxRails } from '@banking/payouts';
import { until } from '@banking/postgres/testing';
import { DEMO_RATES } from '@banking/reference';
import { type CellServer, cellServer } from '../testing/cell-server.js';
import { addWorkspaces, type CellProcess, MIA, startProcess } from '../testing/cell-world.js';
import { Places } from './places.js';

const UNAVAILABLE = { reason: 'unavailable', status: 503, retryAfterSeconds: 1 };

let server: CellServer;
let process: CellProcess;
let workspaceId: WorkspaceId;
let account: Account;
let recipientID: RecipientId;

const KEY = { idempotencyKey: 'opened-before' };
let productID: ProductId;

const order = (more: object) =>
  process.banking.placeOrder({ workspaceId }, {
    accountId: account.id,
    recipientID,
    amount: '50000' as TransferAmount,
    purposeCode: 'IR001',
    ...more,
  } as never);

/** Home is away after one order was placed for later. */
beforeAll(async () => {
  server = await cellServer(['b']);
  await server.add('b');
  process = await startProcess(server);
  const ids = await addWorkspaces(server, ['b']);
  workspaceId = ids.get('b')!;
  const scope = { workspaceId };
  const products = await process.banking.listProducts({});
  const inEuro = products.find(({ edges }) => edges.currency.code === 'EUR')!;
  productID = inEuro.id;
  account = (await process.banking.openAccount(scope, { productID }, KEY)).resource;
  await process.banking.fundAccount(scope, { accountId: account.id, amount: '1000000' as TransferAmount });
  recipientID = await recipientAbroad(process.banking, scope, 'DE89370400440532013000');
  await order({ type: 'scheduled', startAt: '2099-01-01T09:00:00Z' });
  await process.directory.userOf(MIA);
  await server.setAway('home', true);
});
afterAll(async () => {
  await process?.close();
  await server?.close();
});

describe('while home is away', () => {
  it('a user whom the copy knows signs in, and one whom it does not know is asked to come later', async () => {
    expect((await process.directory.userOf(MIA))?.grants).toHaveLength(1);

    const first = { issuer: MIA.issuer, subject: 'noah', email: 'noah@harbour.example' };
    await expect(process.directory.userOf(first)).rejects.toMatchObject(UNAVAILABLE);
  });

  it('an account that was opened is returned again, and a new one must wait for its code', async () => {
    const open = (options: { idempotencyKey: string }) =>
      process.banking.openAccount({ workspaceId }, { productID }, options);

    expect(await open(KEY)).toEqual({ resource: account, isReplay: true });
    await expect(open({ idempotencyKey: 'opened-now' })).rejects.toMatchObject(UNAVAILABLE);
  });

  it('the place of a workspace that the process has not served is read from the copy', async () => {
    const { cells } = process;
    const places = new Places(cells.home.database, () => [cells.get(1).database]);

    expect(await places.cellOf(workspaceId)).toBe(1);
  });

  it('orders, due runs and payouts of another cell go on', async () => {
    const { database } = process.cells.get(1);
    const books = openBooks(database);
    const orders = new OrderService(books, DEMO_RATES, { isSandbox: true, rails: SANDBOX_ROUTING });
    const errors: unknown[] = [];
    const onError = (error: unknown) => errors.push(error);
    await order({ type: 'instant' });
    await server.query('b', `update work set due_at = now() where kind = 'execution'`);

    const worker = startBankingWorker({ database, books }, { orders, rails: sandboxRails, onError });

    const read = () =>
      server.query<{ status: string }>(
        'b',
        'select status from transaction where id in (select transaction_id from execution)',
      );
    const isCompleted = (rows: { status: string }[]) =>
      rows.filter(({ status }) => status === 'completed').length === 2;
    const statuses = await until(read, isCompleted).finally(() => worker.stop());
    expect(statuses).toEqual([{ status: 'completed' }, { status: 'completed' }]);
    expect(errors).toEqual([]);
  });

  it('a process does not start, because the cells and their state are read at home', async () => {
    await expect(startProcess(server)).rejects.toThrow(/^The database at .* cannot be reached/);
  });
});
