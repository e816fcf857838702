import type { App, BankingService } from '@banking/domain';
import { UserListsError } from '../upstream-failure.js';
import type { AppUsers } from './user-lists.js';

/** How many lists are read at once: a start must not be a burst, and other requests of the gateway need connections too. */
const CONCURRENT_MAX = 6;
/** The lists are read every few seconds, so an upstream with more apps is refused. */
const APPS_MAX = 1_000;

/**
 * All users that the upstream shows to the credential of the gateway, by app.
 *
 * @throws UserListsError if one of the lists cannot be read; the others are then not read either, because a missing user would
 *   lose their rights
 */
export async function readUserLists(
  upstream: Pick<BankingService, 'listApps' | 'listAppUsers'>,
): Promise<readonly AppUsers[]> {
  try {
    const apps = await upstream.listApps({});
    if (apps.length > APPS_MAX) {
      throw new Error(`The upstream lists ${apps.length} apps; ${APPS_MAX} are read at most.`);
    }
    const read = new Map<App, AppUsers>();
    let remaining = apps;
    const readNext = async () => {
      for (let [app] = remaining; app !== undefined; [app] = remaining) {
        remaining = remaining.slice(1);
        read.set(app, { app, users: await upstream.listAppUsers({}, { appId: app.id }) });
      }
    };
    const stop = (error: unknown) => {
      remaining = [];
      throw error;
    };
    await Promise.all(Array.from({ length: CONCURRENT_MAX }, () => readNext().catch(stop)));
    return apps.flatMap((app) => read.get(app) ?? []);
  } catch (cause) {
    throw new UserListsError('The user lists of the upstream cannot be read.', { cause });
  }
}
