import { type App, type AppId, Refusal, type Scope, type User } from '@banking/domain';
import { BankingClient, type BankingClientOptions } from '@banking/client';
import type { AppUsers, UserLists } from './user-lists.js';
import { visibleUsers } from './visible-users.js';

/**
 * Another deployment of the interface as what answers behind our port. It sees our one credential and not our caller, so what depends
 * on who asks is answered here, from the user lists: which apps are theirs, and whom of an app they may see. The rest is the client as
 * it is.
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
    const seenIn = (lists: readonly AppUsers[]) => {
      const users = lists.find(({ app }) => app.id === appId)?.users ?? [];
      return actor === undefined ? [] : visibleUsers(users, actor);
    };
    const seen = seenIn(await this.lists.find((lists) => seenIn(lists).length > 0));
    if (seen.length === 0) throw new Refusal('app_not_found');
    return seen;
  }
}
