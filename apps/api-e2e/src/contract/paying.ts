import { BankingClient, type WorkspaceView } from '@banking/client';
import type { Account, AccountId, Order, OrderWish, ProductId, RecipientId, TransferAmount } from '@banking/domain';
import { type Answer, ask } from '../answers.js';
import { ADA, type Service } from '../service.js';
import { idOf } from '../world.js';

/** The products of the demo world, by their currency. */
const IN_USD = 1 as ProductId;
export const IN_EUR = 2 as ProductId;

/** Somebody who pays: Ada for Northwind Trading unless it says otherwise, from accounts that nobody else moves. */
export class Payer {
  constructor(
    private readonly service: Service,
    private readonly workspaceName = 'Northwind Trading',
    private readonly email = ADA,
  ) {}

  get workspace(): number {
    return idOf(this.service.world, 'workspaces', this.workspaceName);
  }

  get view(): WorkspaceView {
    const { service, email } = this;
    return new BankingClient({ baseUrl: service.url, token: () => service.tokenOf(email) }).workspace(this.workspace);
  }

  async account(amount = '0', productID = IN_USD): Promise<Account> {
    const { resource } = await this.view.accounts.open({ productID });
    if (amount !== '0') await this.view.sandbox.fund({ accountId: resource.id, amount: amount as TransferAmount });
    return resource;
  }

  /** A recipient of this workspace that is an account of whomever. */
  async recipientOf({ code }: Account): Promise<RecipientId> {
    return (await this.view.recipients.addInternal({ accountCode: code ?? '', saved: false })).resource.id;
  }

  /** In minor units, as a text: what a test compares. */
  async balanceOf(accountId: AccountId): Promise<string> {
    return String((await this.view.accounts.get(accountId)).edges.balances[0]?.amount);
  }

  async ordersOf(accountId: AccountId): Promise<readonly Order[]> {
    return (await this.view.orders.listPage({ accountId })).items;
  }

  send(accountId: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return this.ask(`/accounts/${accountId}/orders`, { body, headers });
  }

  ask(path: string, question: Omit<Parameters<typeof ask>[2] & object, 'as' | 'workspace'> = {}): Promise<Answer> {
    return ask(this.service, path, { as: this.email, workspace: this.workspace, ...question });
  }
}

/** What an order says beside its account and its recipient. */
export type OrderPart = Partial<Record<keyof OrderWish, unknown>>;

/** The paths of what is at fault. */
export const pathsOf = ({ body }: Answer): string[] => {
  const { details = [] } = body as { readonly details?: readonly { readonly path: string }[] };
  return details.map(({ path }) => path).sort();
};
