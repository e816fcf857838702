import type { App, BankingService } from '@banking/domain';
import { UserListsError } from './upstream-failure.js';
import type { AppUsers } from './user-lists.js';

/** How many lists are read at once: a start must not be a burst, and other questions of our own need connections too. */
const AT_ONCE = 6;
/** More apps than this are no answer to a question that is asked every few seconds. */
const APPS_MAX = 1_000;

/**
 * Everybody whom our credential sees, by app.
 *
 * @throws UserListsError where one of the lists cannot be read, without reading the others: whoever is missing would be somebody who may
 *   do nothing
 */
export async function readUserLists(
  upstream: Pick<BankingService, 'listApps' | 'listAppUsers'>,
): Promise<readonly AppUsers[]> {
  // prettier-ignore
  try {
    const apps = await upstream.listApps({});
    if (apps.length > APPS_MAX) throw new Error(`The upstream lists ${apps.length} apps; ${APPS_MAX} are read at most.`);
    const read = new Map<App, AppUsers>();
    let left = apps;
    const readOn = async () => {
      for (let [app] = left; app !== undefined; [app] = left) {
        left = left.slice(1);
        read.set(app, { app, users: await upstream.listAppUsers({}, { appId: app.id }) });
      }
    };
    const stop = (error: unknown) => {
      left = [];
      throw error;
    };
    await Promise.all(Array.from({ length: AT_ONCE }, () => readOn().catch(stop)));
    return apps.flatMap((app) => read.get(app) ?? []);
  } catch (cause) {
    throw new UserListsError('The user lists of the upstream cannot be read.', { cause });
  }
}
