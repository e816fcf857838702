import type {
  AccountId,
  RequestOptions,
  PlaceOrderInput,
  RecipientId,
  Scope,
  TransferAmount,
  UserId,
  WorkspaceId,
} from '@banking/domain';
import { verifyBooks } from '@banking/ledger';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { DEMO_RATES } from '@banking/rates';
import { verifyPayments } from './verify-payments.js';
import { demoDatabase } from './test-databases.js';

/** A user acting in a workspace. */
export type Member = Scope & { readonly workspaceId: WorkspaceId; readonly actor: UserId };

/** The demo data with the resources for specs of orders: members of two workspaces, accounts with a balance, and recipients. */
export async function orderWorld() {
  const world = await demoDatabase();
  const service = new LedgerBankingService(world.database, world.books, { rates: DEMO_RATES, hasPayoutNetwork: true });
  const member = (email: string, workspace: string): Member => ({
    actor: world.demo.users[email] as UserId,
    workspaceId: world.demo.workspaces[workspace] as WorkspaceId,
  });
  const ada = member('ada@northwind.example', 'Northwind Trading');
  const eve = member('eve@southwind.example', 'Southwind Imports');
  let keys = 0;

  /** An account in the currency of a product with a balance. */
  const account = async (product: number, amount: string, scope = ada): Promise<AccountId> => {
    const { resource } = await service.openAccount(scope, { productID: product as never });
    if (amount !== '0') await service.fundAccount(scope, { accountId: resource.id, amount: amount as TransferAmount });
    return resource.id;
  };
  /** A recipient of one workspace for an account of another, or of the same. */
  const near = async (accountId: AccountId, scope = ada, of = ada): Promise<RecipientId> => {
    const { code = '' } = await service.getAccount(of, { accountId });
    return (await service.addInternalRecipient(scope, { accountCode: code })).resource.id;
  };
  return {
    world,
    service,
    ada,
    eve,
    account,
    near,
    /** Request options with a new idempotency key. */
    key: (): RequestOptions => ({ idempotencyKey: `key-${(keys += 1)}` }),
    balanceOf: async (accountId: AccountId, scope = ada): Promise<unknown> =>
      (await service.getAccount(scope, { accountId })).edges.balances[0]?.amount,
    /** An instant order of 1.00. */
    order: (accountId: AccountId, recipientID: RecipientId, more: Partial<PlaceOrderInput> = {}): PlaceOrderInput => ({
      accountId,
      recipientID,
      amount: '100' as TransferAmount,
      type: 'instant',
      ...more,
    }),
    async expectInOrder(): Promise<void> {
      const all = Object.values(world.demo.workspaces);
      expect((await verifyBooks(world.database, all)).findings).toEqual([]);
      expect(await verifyPayments(world.database, all)).toEqual([]);
    },
  };
}
