import type {
  RequestOptions,
  Order,
  PlaceOrderInput,
  RecipientId,
  Scope,
  TransferAmount,
  UserId,
  WorkspaceId,
} from '@banking/domain';
import { SANDBOX_ROUTING } from '@banking/payouts';
import { plant } from '@banking/postgres/testing';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { demoDatabase } from './test-databases.js';
import { verifyPlanted } from './order-world.js';
import { DEMO_RATES } from '@banking/reference';
import { DIGEST_CHECK } from '../verification/verify-digests.js';
import { ORDER_CHECKS } from '../verification/verify-orders.js';

type Names = [string, string, string, string, string, string, string, string, string, string, string, string, string];

/** The checks of orders by name, in the order of `ORDER_CHECKS`. */
const NAMES = ORDER_CHECKS.map(({ check }) => check) as Names;
const [
  EXECUTIONS,
  STANDS,
  STEPS,
  PAID,
  CONVERSIONS,
  CONVERTED,
  PAYOUTS,
  QUOTES,
  UNQUEUED,
  REFERENCES,
  ONCE,
  DEBITS,
  FEES,
] = NAMES;
export const CHECK = {
  ...{
    EXECUTIONS,
    STANDS,
    STEPS,
    PAID,
    CONVERSIONS,
    CONVERTED,
    PAYOUTS,
    QUOTES,
    UNQUEUED,
    REFERENCES,
    ONCE,
    DEBITS,
    FEES,
  },
};

export interface OrderFaults {
  readonly world: Awaited<ReturnType<typeof demoDatabase>>;
  readonly orders: Readonly<Record<'abroad' | 'quoted' | 'keyed' | 'later' | 'cancelled', Order>>;
  /** Places an order that runs now and one for later, and cancels every other one of those. */
  placeMore(count: number): Promise<void>;
  /** Pays the account with this code, which is one of the deployment. */
  payInto(accountCode: string): Promise<Order>;
  /** Makes a change that triggers and foreign keys forbid, as a superuser who has them off. */
  plant(text: string): Promise<void>;
  /** The names of the checks that report something, besides the digests, which report every edit: see `uncovered`. */
  failedChecks(): Promise<string[]>;
  /** The findings of the check of digests. */
  uncovered(): Promise<string[]>;
}

/** One order of each final status, in a new database, because a planted fault cannot be undone. */
export async function orderFaults(): Promise<OrderFaults> {
  const world = await demoDatabase();
  const service = new LedgerBankingService(world.database, world.books, { rates: DEMO_RATES, rails: SANDBOX_ROUTING });
  const ada: Scope & { workspaceId: WorkspaceId; actor: UserId } = {
    actor: world.demo.users['ada@northwind.example'] as UserId,
    workspaceId: world.demo.workspaces['Northwind Trading'] as WorkspaceId,
  };
  const accountId = (await service.openAccount(ada, { productID: 1 as never })).resource.id;
  await service.fundAccount(ada, { accountId, amount: '100000000' as TransferAmount });
  const recipientID = world.demo.recipients['international'] as RecipientId;
  const amount = '100000' as TransferAmount;
  const { resource: quote } = await service.createQuote(ada, { accountID: accountId, recipientID, amount });
  const place = async (more: Partial<PlaceOrderInput>, options: RequestOptions = {}) => {
    const input = { accountId, recipientID, amount, type: 'instant', purposeCode: 'IR001', ...more } as const;
    return (await service.placeOrder(ada, input, options)).resource;
  };
  const monthly = {
    type: 'recurring',
    repeatUnit: 'monthly',
    repeatValue: 1,
    startAt: '2099-01-31T09:00:00Z',
  } as const;
  const orders = {
    abroad: await place({ externalReference: 'abroad' }),
    quoted: await place({ quoteID: quote.id, externalReference: 'quoted' }),
    keyed: await place({ metadata: { invoice: '2107' } }, { idempotencyKey: 'verified' }),
    later: await place(monthly),
    cancelled: await place(monthly),
  };
  await service.cancelOrder(ada, { accountId, orderId: orders.cancelled.id });
  const northwind = world.demo.workspaces['Northwind Trading'];
  const findings = async () => {
    const found = await verifyPlanted(world.database, Object.values(world.demo.workspaces));
    expect(found.filter(({ workspaceId }) => workspaceId !== northwind)).toEqual([]);
    return found;
  };
  return {
    world,
    orders,
    async placeMore(count) {
      await place({}, { idempotencyKey: `more-${count}` });
      const { id: orderId } = await place(monthly);
      if (count % 2 === 0) await service.cancelOrder(ada, { accountId, orderId });
    },
    async payInto(accountCode) {
      const { resource } = await service.addInternalRecipient(ada, { accountCode });
      return place({ recipientID: resource.id });
    },
    plant: (text) => plant(world.owner, text),
    async failedChecks() {
      return (await findings()).flatMap(({ check }) => (check === DIGEST_CHECK.check ? [] : [check]));
    },
    async uncovered() {
      return (await findings()).flatMap(({ check, detail }) => (check === DIGEST_CHECK.check ? [detail] : []));
    },
  };
}

export const executionOf = ({ edges }: Order) => edges.executions![0]!.id;
export const transactionOf = ({ edges }: Order) => edges.executions![0]!.edges.transaction!.id;
