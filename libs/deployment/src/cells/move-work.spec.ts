import { applicationNameOf } from '@banking/postgres';
import { administer, until } from '@banking/postgres/testing';
import { recipientAbroad } from '@banking/operations/testing';
import type { AccountId, ProductId, RecipientId, TransferAmount, WorkspaceId } from '@banking/domain';
import { addWorkspaces, type CellProcess, payerOf, startProcess } from '../testing/cell-world.js';
import { type MoveWorld, moveWorld } from '../testing/move-world.js';
import { archiveWorkspace } from './remove-rows.js';
import { moveWorkspace } from './move-workspace.js';

let world: MoveWorld;
let process: CellProcess;
let ids: Map<string, WorkspaceId>;
const workers: { stop(): Promise<void> }[] = [];

beforeAll(async () => {
  world = await moveWorld();
  process = await startProcess(world);
  ids = await addWorkspaces(world, ['home', 'home payer', 'b']);
});
afterAll(async () => {
  await Promise.all(workers.map((worker) => worker.stop()));
  await process?.close();
  await world?.close();
});

/** An account in euros, and a recipient in Germany. */
async function paysAbroad(workspaceId: WorkspaceId) {
  const scope = { workspaceId };
  const { resource: account } = await process.banking.openAccount(scope, { productID: 2 as ProductId });
  await process.banking.fundAccount(scope, { accountId: account.id, amount: '10000000' as TransferAmount });
  const recipientID = await recipientAbroad(process.banking, scope, 'DE89370400440532013000');
  return { scope, accountId: account.id, recipientID };
}

/** Pays the recipient, which makes a payout. */
const pay = (payment: { scope: { workspaceId: WorkspaceId }; accountId: AccountId; recipientID: RecipientId }) => {
  const { scope, accountId, recipientID } = payment;
  const terms = { amount: '500000' as TransferAmount, type: 'instant', purposeCode: 'IR001' } as const;
  return process.banking.placeOrder(scope, { accountId, recipientID, ...terms });
};

const count = async (cell: string, what: string): Promise<number> =>
  (await world.query<{ count: number }>(cell, `select count(*)::int from ${what}`))[0]!.count;

describe('the due work of a workspace that moves', () => {
  it('is left alone by the worker of the target until it opens, and is done there once', async () => {
    const [moving, staying] = [ids.get('home')!, ids.get('b')!];
    const [payment, other] = [await paysAbroad(moving), await paysAbroad(staying)];
    await pay(payment);
    workers.push(process.cells.get(1).startWork());

    await moveWorkspace({
      ...world.command(moving),
      to: 'b',
      onStep: async (step) => {
        if (step !== 'follow') return;
        expect(await count('b', `work where workspace_id = ${moving} and fence = 0`)).toBe(1);
        await pay(other);
        // Later than the work that was copied, so the worker would have claimed that first.
        await until(
          async () => (await count('b', `payout where workspace_id = ${staying} and status = 'submitted'`)) === 1,
        );
        expect(await count('b', `work where workspace_id = ${moving} and fence = 0`)).toBe(1);
      },
    });
    workers.push(process.cells.get(0).startWork());

    await until(async () => (await count('b', `payout where workspace_id = ${moving} and status = 'submitted'`)) === 1);
    expect(await count('b', `payout where workspace_id = ${moving} and tries = 1`)).toBe(1);
    expect(await count('home', `sandbox_rail_payment`)).toBe(0);
    expect(await count('home', `work where workspace_id = ${moving}`)).toBe(0);
  });

  it('has the events of the network that are still to come', async () => {
    const moving = ids.get('home')!;
    expect(
      await count('b', `sandbox_rail_event where not acknowledged and starts_with(key, 'payout-${moving}-')`),
    ).not.toBe(0);
    await archiveWorkspace(world.command(moving));
    await moveWorkspace({ ...world.command(moving), to: 'home' });
    await world.query('home', 'update sandbox_rail_event set due_at = now() where not acknowledged');

    await until(
      async () => (await count('home', `payout where workspace_id = ${moving} and status = 'settled'`)) === 1,
    );
    await until(async () => (await count('home', `sandbox_rail_event where not acknowledged`)) === 0);
    expect(
      await count('b', `sandbox_rail_event where not acknowledged and starts_with(key, 'payout-${moving}-')`),
    ).toBe(0);
  });
});

describe('a payment to an account of a workspace that has moved', () => {
  it('arrives, also for a payer who has paid it before', async () => {
    const [moving, paying] = [ids.get('home')!, ids.get('home payer')!];
    const [payee, payer] = [await payerOf(process, moving), await payerOf(process, paying)];
    const scope = { workspaceId: paying };
    const { resource } = await process.banking.addInternalRecipient(scope, { accountCode: payee.from.code! });
    const payment = { accountId: payer.from.id, recipientID: resource.id, amount: '100' as TransferAmount };
    const before = await payee.balance();
    for (let at = 0; at < 2; at += 1) await process.banking.placeOrder(scope, { ...payment, type: 'instant' });
    expect(await payee.balance()).toBe(before + 200n);

    await archiveWorkspace(world.command(moving));
    await moveWorkspace({ ...world.command(moving), to: 'b' });
    await process.banking.placeOrder(scope, { ...payment, type: 'instant' });

    await until(async () => (await payee.balance()) === before + 300n);
    expect(await payer.balance()).toBe(10_000n - 300n);
  });
});

describe('rows of a workspace that has moved', () => {
  it('have statistics of the planner, with which the copy was verified', async () => {
    const analyzed = `pg_stat_user_tables where relname in ('transfer', 'customer_order') and analyze_count > 0`;

    expect(await count('b', analyzed)).toBe(2);
  });

  it('stay while a read runs that may have seen it open', async () => {
    const rows = () => count('home', `account where workspace_id = ${ids.get('home')}`);
    const before = await rows();
    expect(before).toBeGreaterThan(0);
    const connection = { ...world.connectionOf('home'), application_name: applicationNameOf('1.0.0', true) };
    await administer(connection, async (reading) => {
      await reading.query('begin');
      await reading.query('select 1');
      const archived = archiveWorkspace(world.command(ids.get('home')!));
      const waits = `pg_stat_activity where application_name = 'banking-admin' and query like '%xact_start < $1%'`;
      await until(async () => (await count('home', waits)) === 1);

      expect(await rows()).toBe(before);
      await reading.query('commit');
      await archived;
      expect(await rows()).toBe(0);
    });
  });
});
