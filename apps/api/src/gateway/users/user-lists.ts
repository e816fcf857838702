import {
  type App,
  type BankingService,
  isRoleName,
  type Role,
  type User,
  type UserId,
  type WorkspaceId,
} from '@banking/domain';
import { ExpiringCache } from '@banking/process';
import { rateLimitedForS, UserListsError } from '../upstream-failure.js';

/**
 * The roles of a user in the app. A user who has not completed sign-up has none yet, whatever was granted in advance. A user with an
 * unknown status, such as one for blocked users, has none either.
 */
export function rolesOf({ status = 'completed', edges }: User): readonly Role[] {
  return status === 'completed' ? (edges.roles ?? []) : [];
}

/**
 * The users of an app that one user may see: the rule of our own books, for a list that was read with a credential that sees all users.
 * An admin of every workspace in the list sees every user with all roles. Anyone else sees themselves and the users of shared workspaces,
 * with the shared roles only. A role that is not one of ours shows no users.
 *
 * @returns an empty list for a user who does not belong to the app
 */
export function visibleUsers(users: readonly User[], actor: UserId): readonly User[] {
  const self = users.find(({ id }) => id === actor);
  if (self === undefined) return [];
  const ownRoles = rolesOf(self).filter(({ role }) => isRoleName(role));
  const workspacesOf = (roles: readonly Role[]) => new Set<WorkspaceId>(roles.map(({ edges }) => edges.workspace.id));
  const administered = workspacesOf(ownRoles.filter(({ role }) => role === 'admin'));
  const all = workspacesOf(users.flatMap(({ edges }) => edges.roles ?? []));
  const isAdmin = administered.size > 0 && [...all].every((id) => administered.has(id));
  const shared = workspacesOf(ownRoles);
  return users.flatMap((user) => {
    const roles = rolesOf(user).filter(({ edges }) => isAdmin || shared.has(edges.workspace.id));
    if (isAdmin || user.id === actor) return [{ ...user, edges: { ...user.edges, roles } }];
    return roles.length > 0 ? [publishedFields(user, roles)] : [];
  });
}

/** The fields that the interface names. An upstream may send others, which it shows our credential as an admin's. */
function publishedFields({ id, email, status, userType, createdAt }: User, roles: readonly Role[]): User {
  return {
    id,
    email,
    ...(status !== undefined && { status }),
    ...(userType !== undefined && { userType }),
    ...(createdAt !== undefined && { createdAt }),
    edges: { roles },
  };
}

export interface AppUsers {
  readonly app: App;
  readonly users: readonly User[];
}

type ReadLists = () => Promise<readonly AppUsers[]>;

const TIMES_MS = {
  /** How long lists are used without another read. */
  fresh: 5_000,
  /** The least time between the starts of two reads. */
  between: 1_000,
  /** How old lists may become while the upstream limits our requests. */
  usedWhileLimited: 60_000,
  /** From which age on a read takes precedence over callers while the upstream limits our requests. */
  urgent: 30_000,
};
/** The average rate of requests for lists. A read takes one request for the apps and one for each app. */
const REQUESTS_PER_SECOND = 20;

/**
 * All user lists of the upstream. They are read together and used for five seconds.
 *
 * If a user is missing in them, they are read again, at most once a second for all callers together; concurrent callers share a read.
 * A failed read is not repeated for a second. It does not affect users in lists that are still fresh.
 *
 * While the upstream responds 429, users in the lists are served from them until the lists are a minute old.
 */
export class UserLists {
  private last: { readonly startedMs: number; readonly lists: readonly AppUsers[] } | undefined;
  private isRateLimited = false;
  /** Spaces the reads: a result is stored until the next read may start. */
  private readonly reads: ExpiringCache<readonly AppUsers[]>;

  /** @param withPrecedence carries out a read that must not fail for the requests of callers */
  constructor(
    private readonly read: ReadLists,
    private readonly withPrecedence: (read: ReadLists) => ReturnType<ReadLists>,
    private readonly nowMs: () => number = () => performance.now(),
  ) {
    this.reads = new ExpiringCache({
      entriesMax: 1,
      ttlMs: (lists) => spacingMs(lists),
      failureTtlMs: (error) => Math.max(spacingMs(this.last?.lists), rateLimitedForMs(error)),
      nowMs,
    });
  }

  /**
   * @param contains whether lists contain what the caller looks for; if not, they are read again as soon as that is allowed
   * @throws the error of the read
   */
  async find(contains: (lists: readonly AppUsers[]) => boolean = () => true): Promise<readonly AppUsers[]> {
    const { last } = this;
    if (last === undefined || !contains(last.lists)) return this.readAgain();
    if (this.ageMs < TIMES_MS.fresh) return last.lists;
    const reading = this.readAgain();
    if (this.isRateLimited && this.isUsableWhileLimited) {
      // The next read may begin, but this caller does not wait for it. `load` records whether the error is a rate limit.
      reading.catch(() => undefined);
      return last.lists;
    }
    try {
      return await reading;
    } catch (error) {
      if (rateLimitedForS(error) !== undefined && this.isUsableWhileLimited) return last.lists;
      throw error;
    }
  }

  private get ageMs(): number {
    return this.last === undefined ? Infinity : this.nowMs() - this.last.startedMs;
  }

  private get isUsableWhileLimited(): boolean {
    return this.ageMs < TIMES_MS.usedWhileLimited;
  }

  private readAgain(): Promise<readonly AppUsers[]> {
    return this.reads.get('lists', () => this.load());
  }

  private async load(): Promise<readonly AppUsers[]> {
    const startedMs = this.nowMs();
    const isUrgent = this.isRateLimited && this.ageMs >= TIMES_MS.urgent;
    try {
      const lists = await (isUrgent ? this.withPrecedence(this.read) : this.read());
      this.last = { startedMs, lists };
      this.isRateLimited = false;
      return lists;
    } catch (error) {
      this.isRateLimited = rateLimitedForS(error) !== undefined;
      throw error;
    }
  }
}

/** The least time from one read to the next: many apps are read less often. */
function spacingMs(lists: readonly AppUsers[] = []): number {
  const requests = 1 + lists.length;
  return Math.max(TIMES_MS.between, (requests / REQUESTS_PER_SECOND) * 1_000);
}

function rateLimitedForMs(error: unknown): number {
  return Math.min((rateLimitedForS(error) ?? 0) * 1_000, TIMES_MS.usedWhileLimited);
}

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
