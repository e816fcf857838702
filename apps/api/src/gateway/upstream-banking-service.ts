import {
  type App,
  type AppId,
  type Event,
  type EventId,
  type EventPage,
  type EventQuery,
  type OrderPage,
  type OrderPageQuery,
  Refusal,
  type Scope,
  type Transaction,
  type TransactionId,
  type User,
} from '@banking/domain';
import { RemoteBankingService, type BankingClientOptions, ServiceError } from '@banking/client';
import { type AppUsers, type UserLists, visibleUsers } from './users/user-lists.js';

/**
 * Implements the port by another deployment of the interface. The upstream authenticates the gateway and not its caller, so the operations that
 * depend on the caller are served from the user lists: their apps, and the users they may see. The client implements the others.
 */
export class UpstreamBankingService extends RemoteBankingService {
  constructor(
    options: BankingClientOptions,
    private readonly lists: UserLists,
  ) {
    super(options);
  }

  override async listApps({ actor }: Scope = {}): Promise<readonly App[]> {
    const lists = await this.lists.find();
    return lists.filter(({ users }) => users.some(({ id }) => id === actor)).map(({ app }) => app);
  }

  /** @throws Refusal `app_not_found` if the app does not exist or is not the actor's */
  override async listAppUsers({ actor }: Scope, { appId }: { readonly appId: AppId }): Promise<readonly User[]> {
    const visibleIn = (lists: readonly AppUsers[]) => {
      const users = lists.find(({ app }) => app.id === appId)?.users ?? [];
      return actor === undefined ? [] : visibleUsers(users, actor);
    };
    const visible = visibleIn(await this.lists.find((lists) => visibleIn(lists).length > 0));
    if (visible.length === 0) throw new Refusal('app_not_found');
    return visible;
  }

  /** @throws Refusal `route_not_found` if the upstream has no events */
  override listEvents(scope: Scope, query?: EventQuery): Promise<EventPage> {
    return ofOurInterface(super.listEvents(scope, query));
  }

  /** @throws Refusal `route_not_found` if the upstream has no events */
  override getEvent(scope: Scope, query: { readonly eventId: EventId }): Promise<Event> {
    return ofOurInterface(super.getEvent(scope, query));
  }

  /** @throws Refusal `route_not_found` if no account is given, and the upstream finds no order without one */
  override getOrderPage(scope: Scope, query: OrderPageQuery): Promise<OrderPage> {
    const page = super.getOrderPage(scope, query);
    return query.accountId === undefined ? ofOurInterface(page) : page;
  }

  /** @throws Refusal `route_not_found` if the upstream has no transactions of their own */
  override getTransaction(scope: Scope, query: { readonly transactionId: TransactionId }): Promise<Transaction> {
    return ofOurInterface(super.getTransaction(scope, query));
  }
}

/**
 * The response to an operation that the published interface does not have. A deployment that has the operation sends a reason with a 404,
 * so a 404 without one means that it has no such route.
 */
function ofOurInterface<T>(response: Promise<T>): Promise<T> {
  return response.catch((error: unknown) => {
    throw error instanceof ServiceError && error.status === 404
      ? new Refusal('route_not_found', 'The upstream service does not have this operation.', { cause: error })
      : error;
  });
}
