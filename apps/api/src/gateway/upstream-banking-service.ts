import { type App, type AppId, Refusal, type Scope, type User } from '@banking/domain';
import { BankingClient, type BankingClientOptions } from '@banking/client';
import type { AppUsers, UserLists } from './users/user-lists.js';
import { visibleUsers } from './users/visible-users.js';

/**
 * Implements the port by another deployment of the interface. The upstream authenticates the gateway and not its caller, so the operations that
 * depend on the caller are served from the user lists: their apps, and the users they may see. The client implements the others.
 */
export class UpstreamBankingService extends BankingClient {
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
}
