import { exportBooks } from '@banking/books-proof';
import type { TransferAmount, WorkspaceId } from '@banking/domain';
import { proveExport } from '@banking/domain/proof';
import { verifyBooks } from '@banking/ledger';
import { verifyPayments } from '@banking/operations/verification';
import { VERIFIER_ROLE } from '@banking/postgres';
import { addWorkspaces, type CellProcess, payerOf, startProcess } from '../testing/cell-world.js';
import { type MoveWorld, moveWorld } from '../testing/move-world.js';
import { archiveWorkspace } from './remove-rows.js';
import { moveWorkspace } from './move-workspace.js';

let world: MoveWorld;
let process: CellProcess;
let workspaceId: WorkspaceId;
let payer: Awaited<ReturnType<typeof payerOf>>;

beforeAll(async () => {
  world = await moveWorld();
  process = await startProcess(world);
  workspaceId = (await addWorkspaces(world, ['home main'])).get('home main')!;
  payer = await payerOf(process, workspaceId);
});
afterAll(async () => {
  await process?.close();
  await world?.close();
});

/** The numbers of the databases in the process. */
const NUMBERS = { home: 0, b: 1 } as const;
type Cell = keyof typeof NUMBERS;

let aliases = 0;

/** Changes of an account, and an order that is placed, paused, resumed and cancelled. */
async function change(cell: Cell): Promise<void> {
  const { banking } = process;
  const scope = { workspaceId };
  for (const alias of ['', 'Rent', 'Salaries']) {
    await banking.changeAccount(scope, { accountId: payer.from.id, alias: `${alias} ${(aliases += 1)}`.trim() });
  }
  await payer.pay();
  const recipient = await banking.addInternalRecipient(scope, { accountCode: payer.to.code! });
  const { resource: order } = await banking.placeOrder(scope, {
    accountId: payer.from.id,
    recipientID: recipient.resource.id,
    amount: '1' as TransferAmount,
    type: 'scheduled',
    startAt: '2099-01-01T00:00:00Z',
  });
  // As a worker does when its run is due.
  await world.query(
    cell,
    `set app.workspaces = '{${workspaceId}}';
     update customer_order set paused_at = statement_timestamp(), pause_reason = 'placer_without_role'
     where workspace_id = ${workspaceId} and id = ${order.id}`,
  );
  const name = { accountId: payer.from.id, orderId: order.id };
  await banking.resumeOrder(scope, name);
  await banking.cancelOrder(scope, name);
}

async function findingsOf(cell: Cell): Promise<readonly string[]> {
  const { database } = process.cells.get(NUMBERS[cell]);
  const lines: string[] = [];
  const write = async (text: string) => void lines.push(...text.trimEnd().split('\n'));
  const books = await verifyBooks(database, [workspaceId]);
  const payments = await verifyPayments(database.as(VERIFIER_ROLE), [workspaceId]);
  await exportBooks(database, { id: workspaceId, name: 'main' }, write);
  await proveExport(lines);
  return [...books.findings, ...payments].map(({ detail }) => detail);
}

/** Those of some tables whose next id would not be above the rows of the workspace. */
async function behind(cell: Cell): Promise<readonly string[]> {
  const tables = ['account', 'transaction', 'transfer', 'customer_order', 'execution', 'recipient', 'event'];
  const parts = tables.map(
    (table) => `select '${table}' as name from ${table}_id_seq
      where last_value < (select max(id) from ${table} where workspace_id = ${workspaceId})`,
  );
  return (await world.query<{ name: string }>(cell, parts.join(' union all '))).map(({ name }) => name);
}

describe('the ids of a workspace', () => {
  it('grow over moves to a database that has drawn fewer ids, so that its trails stay in order', async () => {
    await change('home');
    for (const [from, to] of [
      ['home', 'b'],
      ['b', 'home'],
    ] as const) {
      await moveWorkspace({ ...world.command(workspaceId), to });
      await archiveWorkspace(world.command(workspaceId));
      expect([await findingsOf(to), await behind(to)]).toEqual([[], []]);

      await change(to);
      expect([from, to, await findingsOf(to)]).toEqual([from, to, []]);
    }
  });
});
