import type { App } from '@banking/domain';
import type { ListedUser } from './visible-users.js';

/** An app of the upstream with everybody who uses it. */
export interface AppUsers {
  readonly app: App;
  readonly users: readonly ListedUser[];
}

/** Reads all lists anew. */
type ReadLists = () => Promise<readonly AppUsers[]>;

/** How long what was read counts, and how soon it may be read again. */
const TIMES_MS = { kept: 5_000, between: 1_000 };

interface Reading {
  readonly startedMs: number;
  readonly lists: Promise<readonly AppUsers[]>;
}

/**
 * All user lists of the upstream, read as one and kept for five seconds. Whoever does not find what they look for has them read
 * again, but not twice within a second, however many ask; a reading that is under way serves everybody who needs it. One that failed
 * is an answer too, for a second, and takes nothing away from those who are found in what was read before.
 */
export class UserLists {
  /** What was read last and can be used. */
  private known: { readonly startedMs: number; readonly lists: readonly AppUsers[] } | undefined;
  private latest: Reading | undefined;
  private isUnderWay = false;

  constructor(
    private readonly read: ReadLists,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  /**
   * @param isFound whether the lists hold what is looked for; else they are read again where they may be
   * @throws what reading them threw
   */
  async find(isFound: (lists: readonly AppUsers[]) => boolean = () => true): Promise<readonly AppUsers[]> {
    const { known } = this;
    if (known && this.nowMs() - known.startedMs < TIMES_MS.kept && isFound(known.lists)) return known.lists;
    return this.readAgain();
  }

  private readAgain(): Promise<readonly AppUsers[]> {
    const startedMs = this.nowMs();
    if (this.latest && (this.isUnderWay || startedMs - this.latest.startedMs < TIMES_MS.between))
      return this.latest.lists;
    const lists = this.read();
    this.latest = { startedMs, lists };
    this.isUnderWay = true;
    lists.then(
      (read) => {
        this.known = { startedMs, lists: read };
        this.isUnderWay = false;
      },
      () => (this.isUnderWay = false),
    );
    return lists;
  }
}
