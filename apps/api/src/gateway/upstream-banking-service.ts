import { ADMINISTRATORS_GROUPS, type Approval, BankingService, Refusal, type Scope } from '@banking/domain';
import { RemoteBankingService, type BankingClientOptions } from '@banking/client';
import type { Caller } from '../access/access-check.js';
import { type AppUsers, type UserLists, visibleUsers } from './users/user-lists.js';

/**
 * Whether a request for approvals is shown to a caller. The upstream shows the user of the credential all of them, and that user is the maker
 * of what comes through the gateway, so the roles alone decide.
 */
const isShownTo = ({ roles = [] }: Pick<Caller, 'roles'>, { operations, requirements }: Approval): boolean =>
  !(ADMINISTRATORS_GROUPS as readonly string[]).includes(operations) ||
  ['admin', ...requirements.flatMap((required) => required.roles)].some((role) =>
    (roles as readonly string[]).includes(role),
  );

const notHere = () => Promise.reject(new Refusal('not_through_gateway'));

/**
 * Implements the port by another deployment of the interface. The upstream authenticates the gateway and not its caller, so the operations that
 * depend on the caller are served from the user lists: their apps, and the users they may see. Requests for approvals are shown by the roles of
 * the caller. What only a person may do is refused here,
 * because it would be done by the user of the credential. The client implements the others.
 */
export function upstreamBankingService(options: BankingClientOptions, lists: UserLists): BankingService {
  const upstream = new RemoteBankingService(options);
  return new BankingService({
    ...upstream,

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

    /** A page has fewer items than the limit if some are not shown. Its cursor is that of the upstream. */
    async listApprovals(scope: Scope & Pick<Caller, 'roles'>, query) {
      const page = await upstream.listApprovals(scope, query);
      return { ...page, items: page.items.filter((approval) => isShownTo(scope, approval)) };
    },

    /** @throws Refusal `approval_not_found` also for one that is not shown to the caller */
    async getApproval(scope: Scope & Pick<Caller, 'roles'>, name) {
      const approval = await upstream.getApproval(scope, name);
      if (!isShownTo(scope, approval)) throw new Refusal('approval_not_found');
      return approval;
    },

    acceptInvitation: notHere,
    decideApproval: notHere,
    withdrawApproval: notHere,
  });
}
