import type { AccountId, Order, RecipientId, TransferAmount, UserId, WorkspaceId } from '@banking/domain';
import { verifyBooks } from '@banking/ledger';
import { Worker } from '@banking/work-queue';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { addGrant, addUser } from '../provisioning/index.js';
import { DEMO_RATES } from '@banking/rates';
import { workOf } from '../worker/start-banking-worker.js';
import { verifyPayments } from './verify-payments.js';
import { onceReadRun } from './once-read-run.js';
import { demoDatabase } from './test-databases.js';

const APP = 'Northwind Treasury';
export const ADA = 'ada@northwind.example';

/** The fields of an order that is paused because its placer has no role. */
export const PAUSED = { status: 'active', pausedAt: expect.any(String) as string, pauseReason: 'placer_without_role' };

export const statesOf = ({ edges }: Order) => edges.executions?.map(({ status }) => status);

/** The demo data with an account that has a balance, users who place later orders from it, and a worker. */
export async function placerWorld() {
  const world = await demoDatabase();
  const { database: db, demo, owner } = world;
  const service = new LedgerBankingService(db, world.books, { rates: DEMO_RATES, hasPayoutNetwork: true }, true);
  const errors: unknown[] = [];
  const worker = new Worker(
    workOf(world, { orders: service.orders, sandbox: true, onError: (error) => errors.push(error) }),
  );
  const workspaceId = demo.workspaces['Northwind Trading'] as WorkspaceId;
  const ada = { workspaceId, actor: demo.users[ADA] as UserId };
  const { resource: from } = await service.openAccount(ada, { productID: 1 as never });
  const { resource: to } = await service.openAccount(ada, { productID: 1 as never });
  const accountId: AccountId = from.id;
  await service.fundAccount(ada, { accountId, amount: '1000000' as TransferAmount });
  const { resource: recipient } = await service.addInternalRecipient(ada, { accountCode: to.code ?? '' });
  const recipientID: RecipientId = recipient.id;
  let [year, users] = [2040, 0];

  const work = async () => {
    while ((await worker.step()) > 0);
  };
  return {
    ...{ ...world, db, service, workspaceId, accountId, ada, work },
    /** A user with a role in the workspace. */
    async member(role: 'member' | 'admin' = 'member') {
      users += 1;
      const email = `placer${users}@northwind.example`;
      const id = (await addUser(world.provisioning, 'ops', { email, app: APP })) as UserId;
      await addGrant(world.provisioning, 'ops', { workspaceId, email, role });
      return { id, email };
    },
    /** An order of a user in a year of its own: daily, or once on the first of March. */
    async orderOf(actor: UserId | undefined, type: 'recurring' | 'scheduled' = 'recurring') {
      year += 1;
      const march = (day: number) => `${year}-03-${String(day).padStart(2, '0')}T09:00:00Z`;
      const repeated = type === 'recurring' ? ({ repeatUnit: 'daily', repeatValue: 1 } as const) : {};
      const { resource } = await service.placeOrder(
        { workspaceId, ...(actor !== undefined && { actor }) },
        { accountId, recipientID, amount: '100' as TransferAmount, type, startAt: march(1), ...repeated },
      );
      const orderId = resource.id;
      const read = () => service.getOrder({ workspaceId }, { accountId, orderId });
      return {
        orderId,
        read,
        /** Moves the clock to a day of March, and does due work. */
        async day(day: number) {
          await service.moveClock({ workspaceId }, { now: march(day) });
          await work();
          return read();
        },
      };
    },
    onceReadRun: (happens: () => Promise<unknown>) => onceReadRun(db, happens),
    /** The changes of an order with their actors, oldest first. */
    async trail(orderId: number) {
      const { rows } = await owner.query<{ by: string; user_id: bigint | null; before: object; after: object }>(
        'select changed_by as by, user_id, before, after from order_change where order_id = $1 order by id',
        [orderId],
      );
      return rows;
    },
    async expectInOrder() {
      const all = Object.values(demo.workspaces);
      expect((await verifyBooks(db, all)).findings).toEqual([]);
      expect(await verifyPayments(db, all)).toEqual([]);
      expect(errors).toEqual([]);
    },
  };
}
