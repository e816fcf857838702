import { BankingClient, type WorkspaceView } from '@banking/client';
import type {
  Account,
  AccountId,
  Order,
  OrderId,
  PlaceOrderInput,
  ProductId,
  RecipientId,
  TransferAmount,
} from '@banking/domain';
import { until } from '@banking/postgres/testing';
import { type HttpResponse, sendRequest } from '../responses.js';
import { ADA, idOf, type Service } from '../service.js';

/** The products of the demo data, by currency. */
const IN_USD = 1 as ProductId;
export const IN_EUR = 2 as ProductId;

/** A payer with accounts that no other test uses. The default is Ada for Northwind Trading. */
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

  /** Adds an account, of any workspace, as a recipient of this workspace. */
  async recipientOf({ code }: Account): Promise<RecipientId> {
    return (await this.view.recipients.addInternal({ accountCode: code ?? '', saved: false })).resource.id;
  }

  /** The balance in minor units, as text. */
  async balanceOf(accountId: AccountId): Promise<string> {
    return String((await this.view.accounts.get(accountId)).edges.balances[0]?.amount);
  }

  async ordersOf(accountId: AccountId): Promise<readonly Order[]> {
    return (await this.view.orders.listPage({ accountId })).items;
  }

  /** The status of the transaction of an order, once it is not pending any more. */
  async finalStatus(accountId: AccountId, orderId: OrderId): Promise<string | undefined> {
    const read = async () => {
      const { edges } = await this.view.orders.get(accountId, orderId);
      return edges.executions?.[0]?.edges.transaction?.status;
    };
    return until(read, (status) => status !== 'pending');
  }

  send(accountId: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<HttpResponse> {
    return this.sendRequest(`/accounts/${accountId}/orders`, { body, headers });
  }

  cancel(accountId: number, orderId: number): Promise<HttpResponse> {
    return this.sendRequest(`/accounts/${accountId}/orders/${orderId}/cancellation`, { method: 'POST' });
  }

  sendRequest(
    path: string,
    options: Omit<Parameters<typeof sendRequest>[2] & object, 'as' | 'workspace'> = {},
  ): Promise<HttpResponse> {
    return sendRequest(this.service, path, { as: this.email, workspace: this.workspace, ...options });
  }
}

/** The fields of an order besides its account and its recipient. */
export type OrderPart = Partial<Record<keyof PlaceOrderInput, unknown>>;

/** The paths of the invalid fields. */
export const pathsOf = ({ body }: HttpResponse): string[] => {
  const { details = [] } = body as { readonly details?: readonly { readonly path: string }[] };
  return details.map(({ path }) => path).sort();
};
