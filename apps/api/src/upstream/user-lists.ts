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
  state: 'under way' | 'read' | 'failed';
}

/**
 * All user lists of the upstream, read as one and kept for five seconds. Whoever does not find what they look for has them read
 * again, but not twice within a second, however many ask; a reading that is under way serves everybody. One that failed is an
 * answer too, for a second.
 */
export class UserLists {
  private latest: Reading | undefined;

  constructor(
    private readonly read: ReadLists,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  /**
   * @param isFound whether the lists hold what is looked for; else they are read again where they may be
   * @throws what reading them threw
   */
  async find(isFound: (lists: readonly AppUsers[]) => boolean = () => true): Promise<readonly AppUsers[]> {
    const known = this.latest;
    if (known === undefined || this.isOver(known)) return this.readAgain();
    const lists = await known.lists;
    if (isFound(lists)) return lists;
    if (this.latest === known && this.ageMs(known) >= TIMES_MS.between) return this.readAgain();
    return (this.latest ?? known).lists;
  }

  private isOver(reading: Reading): boolean {
    if (reading.state === 'under way') return false;
    return this.ageMs(reading) >= (reading.state === 'read' ? TIMES_MS.kept : TIMES_MS.between);
  }

  private ageMs({ startedMs }: Reading): number {
    return this.nowMs() - startedMs;
  }

  private readAgain(): Promise<readonly AppUsers[]> {
    const reading: Reading = { startedMs: this.nowMs(), lists: this.read(), state: 'under way' };
    this.latest = reading;
    reading.lists.then(
      () => (reading.state = 'read'),
      () => (reading.state = 'failed'),
    );
    return reading.lists;
  }
}
