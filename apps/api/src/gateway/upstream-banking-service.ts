import { BankingService, Refusal } from '@banking/domain';
import { RemoteBankingService, type BankingClientOptions } from '@banking/client';
import { type AppUsers, type UserLists, visibleUsers } from './users/user-lists.js';

const notHere = () => Promise.reject(new Refusal('not_through_gateway'));

/**
 * Implements the port by another deployment of the interface. The upstream authenticates the gateway and not its caller, so the operations that
 * depend on the caller are served from the user lists: their apps, and the users they may see. What only a person may do is refused here,
 * because it would be done by the user of the credential. The client implements the others.
 */
export const upstreamBankingService = (options: BankingClientOptions, lists: UserLists): BankingService =>
  new BankingService({
    ...new RemoteBankingService(options),

    async listApps({ actor }) {
      const known = await lists.find();
      return known.filter(({ users }) => users.some(({ id }) => id === actor)).map(({ app }) => app);
    },

    /** @throws Refusal `app_not_found` if the app does not exist or is not the actor's */
    async listAppUsers({ actor }, { appId }) {
      const visibleIn = (known: readonly AppUsers[]) => {
        const users = known.find(({ app }) => app.id === appId)?.users ?? [];
        return actor === undefined ? [] : visibleUsers(users, actor);
      };
      const visible = visibleIn(await lists.find((known) => visibleIn(known).length > 0));
      if (visible.length === 0) throw new Refusal('app_not_found');
      return visible;
    },

    acceptInvitation: notHere,
    decideApproval: notHere,
    withdrawApproval: notHere,
  });
