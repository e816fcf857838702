import type { App, User } from '@banking/domain';
import { limitedFor } from './upstream-failure.js';

/** An app of the upstream with everybody who uses it. */
export interface AppUsers {
  readonly app: App;
  readonly users: readonly User[];
}

/** Reads all lists anew. */
type ReadLists = () => Promise<readonly AppUsers[]>;

/**
 * Until when lists are used without reading them again, and how soon they may be read again; while the upstream limits how often they are
 * read, until when they are still used, and when reading them becomes urgent.
 */
const TIMES_MS = { fresh: 5_000, between: 1_000, usedWhileLimited: 60_000, urgent: 30_000 };
/** Requests for lists, on average: a reading is one for the apps and one for each app. */
const REQUESTS_PER_SECOND = 20;

interface Reading {
  readonly lists: Promise<readonly AppUsers[]>;
  isUnderWay: boolean;
  /** When the next one may begin. */
  nextMs: number;
}

/**
 * All user lists of the upstream, read as one and used for five seconds. If somebody is not found in them, they are read again, but not
 * twice within a second, however many ask; everybody who needs a reading waits for the one that is under way. One that failed is an answer
 * too, for a second, and takes nothing away from those who are found in what was read before.
 *
 * While the upstream answers 429, those who are found in the lists are served from them until they are a minute old.
 */
export class UserLists {
  /** What was read last and can be used. */
  private known: { readonly startedMs: number; readonly lists: readonly AppUsers[] } | undefined;
  private latest: Reading | undefined;
  /** Whether the latest reading was answered 429. */
  private isLimited = false;

  /** @param urgently carries out a reading without which nobody could be served before long */
  constructor(
    private readonly read: ReadLists,
    private readonly urgently: (read: ReadLists) => ReturnType<ReadLists>,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  /**
   * @param isFound whether the lists hold what is looked for; else they are read again where they may be
   * @throws what reading them threw
   */
  async find(isFound: (lists: readonly AppUsers[]) => boolean = () => true): Promise<readonly AppUsers[]> {
    const { known } = this;
    if (known === undefined || !isFound(known.lists)) return this.readAgain();
    if (this.ageMs < TIMES_MS.fresh) return known.lists;
    const reading = this.readAgain();
    const isUsable = () => this.ageMs < TIMES_MS.usedWhileLimited;
    if (this.isLimited && isUsable()) return known.lists;
    try {
      return await reading;
    } catch (error) {
      if (limitedFor(error) !== undefined && isUsable()) return known.lists;
      throw error;
    }
  }

  private get ageMs(): number {
    return this.known === undefined ? Infinity : this.nowMs() - this.known.startedMs;
  }

  private readAgain(): Promise<readonly AppUsers[]> {
    const startedMs = this.nowMs();
    const { latest } = this;
    if (latest && (latest.isUnderWay || startedMs < latest.nextMs)) return latest.lists;
    const isUrgent = this.isLimited && this.ageMs >= TIMES_MS.urgent;
    const lists = isUrgent ? this.urgently(this.read) : this.read();
    const reading: Reading = { lists, isUnderWay: true, nextMs: startedMs + TIMES_MS.between };
    this.latest = reading;
    lists.then(
      (read) => {
        this.known = { startedMs, lists: read };
        this.ended(reading, startedMs, undefined);
      },
      (error: unknown) => this.ended(reading, startedMs, limitedFor(error)),
    );
    return lists;
  }

  /** @param limitedForS after how many seconds the upstream may be asked again, if it said so */
  private ended(reading: Reading, startedMs: number, limitedForS: number | undefined): void {
    reading.isUnderWay = false;
    this.isLimited = limitedForS !== undefined;
    const requests = 1 + (this.known?.lists.length ?? 0);
    const costMs = (requests / REQUESTS_PER_SECOND) * 1_000;
    const limitedUntilMs = this.nowMs() + Math.min((limitedForS ?? 0) * 1_000, TIMES_MS.usedWhileLimited);
    reading.nextMs = Math.max(startedMs + Math.max(TIMES_MS.between, costMs), limitedUntilMs);
  }
}
