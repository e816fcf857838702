import type { AccountId, RecipientId, TransferAmount, UserId, WorkspaceId } from '@banking/domain';
import { LedgerBankingService } from '@banking/operations';
import { demoDatabase, recipientLike } from '@banking/operations/testing';
import { DEMO_RATES } from '@banking/reference';
import type { Rails } from '../rails.js';

export interface PayingCustomer {
  readonly world: Awaited<ReturnType<typeof demoDatabase>>;
  readonly service: LedgerBankingService;
  readonly ada: { readonly workspaceId: WorkspaceId; readonly actor: UserId };
  readonly accountId: AccountId;
  /** Adds a recipient of the demo data with other details. */
  readonly payeeWith: (changed: Readonly<Record<string, string>>) => Promise<RecipientId>;
}

/** The service with these networks, and a customer who has money in euros and pays to India. */
export async function payingCustomer(rails: Rails, amount = '10000000'): Promise<PayingCustomer> {
  const world = await demoDatabase();
  const service = new LedgerBankingService(world.database, world.books, { rates: DEMO_RATES, rails });
  const ada = {
    workspaceId: world.demo.workspaces['Northwind Trading'] as WorkspaceId,
    actor: world.demo.users['ada@northwind.example'] as UserId,
  };
  const { rows } = await world.owner.query<{ id: bigint }>(
    `select p.id from product p join currency c on c.id = p.currency_id where c.code = 'EUR' limit 1`,
  );
  const { resource } = await service.openAccount(ada, { productID: Number(rows[0]!.id) as never });
  const accountId = resource.id;
  await service.fundAccount(ada, { accountId, amount: amount as TransferAmount });
  const payeeWith = (changed: Readonly<Record<string, string>>) =>
    recipientLike(service, ada, world.demo.recipients['international'] as RecipientId, changed);
  return { world, service, ada, accountId, payeeWith };
}
