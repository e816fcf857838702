import { type CellBooks, cellBooksOf } from '@banking/books-proof';
import type { Account, Order, TransferAmount, WorkspaceId } from '@banking/domain';
import { administer, until } from '@banking/postgres/testing';
import { type CellServer, cellServer } from './cell-server.js';
import { addWorkspaces, type CellProcess, payerOf, startProcess } from './cell-world.js';

const NAMES = ['home', 'b'];
const KEY = 'primary key (workspace_id, origin_workspace_id, origin_transaction_id, key_nonce)';

/** Two cells with payments between them that have ended: from each to the other, one that has come back, and one within home. */
export interface PaidCells {
  readonly server: CellServer;
  readonly cells: readonly CellBooks[];
  /** Of `home`, `home two` and `b`. */
  readonly ids: ReadonlyMap<string, WorkspaceId>;
  /** Runs SQL with the triggers and foreign keys switched off. */
  plant(cell: string, text: string): Promise<void>;
  /** Restores crossings and arrivals. */
  restore(): Promise<void>;
  close(): Promise<void>;
}

export async function paidCells(): Promise<PaidCells> {
  const server = await cellServer(['b']);
  await server.add('b');
  const process = await startProcess(server);
  const ids = await addWorkspaces(server, ['home', 'home two', 'b']);
  await payAll(process, ids);
  const cells = await Promise.all(process.cells.all().map(({ use }) => cellBooksOf(use!.database)));
  const plant = (cell: string, text: string) =>
    administer(server.connectionOf(cell), async (client) => {
      await client.query('set search_path = banking');
      await client.query('set session_replication_role = replica');
      await client.query(text);
    });
  const saved = 'create table saved_crossing as table crossing; create table saved_arrival as table arrival';
  for (const name of NAMES) await server.query(name, saved);
  return {
    ...{ server, cells, ids, plant },
    async restore() {
      for (const name of NAMES) {
        await plant(
          name,
          `delete from crossing; insert into crossing table saved_crossing;
           delete from arrival; insert into arrival table saved_arrival;
           alter table arrival drop constraint if exists arrival_pkey, add constraint arrival_pkey ${KEY}`,
        );
      }
    },
    async close() {
      await process.close();
      await server.close();
    },
  };
}

interface Paid {
  readonly scope: { readonly workspaceId: WorkspaceId };
  readonly order: Order;
}

async function payAll(process: CellProcess, ids: ReadonlyMap<string, WorkspaceId>): Promise<void> {
  const payer = (name: string) => payerOf(process, ids.get(name)!);
  const [home, b, two, disabled] = [await payer('home'), await payer('b'), await payer('home two'), await payer('b')];
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
  await process.banking.changeAccount(scope, { accountId: disabled.to.id, status: 'disabled' });
  const workers = process.cells.all().map(({ use }) => use!.startWork());
  try {
    await untilFinished(process, paid);
  } finally {
    for (const worker of workers) await worker.stop();
  }
}

async function untilFinished({ banking }: CellProcess, paid: readonly Paid[]): Promise<void> {
  const isFinished = async ({ scope, order }: Paid) => {
    const { items } = await banking.listOrders(scope);
    return items.find(({ id }) => id === order.id)!.edges.executions![0]!.status !== 'pending';
  };
  for (const one of paid) await until(() => isFinished(one));
}
