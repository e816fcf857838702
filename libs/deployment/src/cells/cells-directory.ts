import { Directory, type DirectoryUser, KEY_ISSUER, type ServiceAccountKeyId, type Subject } from '@banking/domain';
import { isUnavailable, unavailable } from '@banking/postgres';

/** For how long copies of the directory answer after home last did. A change of rights during that time has no effect on this process. */
export const COPIES_VALID_MS = 15 * 60_000;
/** For how long home is not asked after it did not answer, because each attempt may take a second. */
const PAUSE_MS = 1_000;

/** Calls home, and the copies of its tables in the other cells while home is away. */
export class HomeOrCopies<T> {
  private answeredAtMs: number;
  private awayUntilMs = -Infinity;

  /** @param copies those of the cells that are open, in any order */
  constructor(
    private readonly home: T,
    private readonly copies: () => readonly T[],
    private readonly nowMs: () => number = () => performance.now(),
  ) {
    this.answeredAtMs = nowMs();
  }

  /**
   * @param read changes nothing
   * @param isKnown whether the result of a copy is used. Default: always
   * @throws Refusal `unavailable` if neither home nor a copy answers, or home has been away for too long
   */
  async read<R>(read: (source: T) => Promise<R>, isKnown: (result: R) => boolean = () => true): Promise<R> {
    if (this.nowMs() >= this.awayUntilMs) {
      try {
        const result = await read(this.home);
        this.answeredAtMs = this.nowMs();
        return result;
      } catch (error) {
        if (!isUnavailable(error)) throw this.answered(error);
        if (!this.areCopiesValid || this.copies().length === 0) throw error;
        this.awayUntilMs = this.nowMs() + PAUSE_MS;
      }
    }
    if (this.areCopiesValid) {
      for (const copy of this.copies()) {
        try {
          const result = await read(copy);
          if (isKnown(result)) return result;
        } catch (error) {
          if (!isUnavailable(error)) throw error;
        }
      }
    }
    return read(this.home);
  }

  /** Calls home, which alone can change the directory. */
  write<R>(write: (source: T) => Promise<R>): Promise<R> {
    return write(this.home);
  }

  private get areCopiesValid(): boolean {
    return this.nowMs() - this.answeredAtMs < COPIES_VALID_MS;
  }

  /** Any other error is an answer too. */
  private answered(error: unknown): unknown {
    this.answeredAtMs = this.nowMs();
    return error;
  }
}

/** The directory at home, or a copy of it while home is away. */
export class CellsDirectory extends Directory {
  /** @param all the directories of all cells, undefined for one that is away: a key is in the database that serves its workspace */
  constructor(
    private readonly directories: HomeOrCopies<{ readonly directory: Directory }>,
    private readonly all: () => readonly ({ readonly directory: Directory } | undefined)[],
  ) {
    super();
  }

  /** A subject that a copy does not know may be that of a new user, which home alone can bind. */
  userOf(subject: Subject): Promise<DirectoryUser | undefined> {
    if (subject.issuer === KEY_ISSUER) return this.userOfKey(subject);
    return this.directories.read(
      ({ directory }) => directory.userOf(subject),
      (user) => user !== undefined,
    );
  }

  /** @throws Refusal `unavailable` if no cell has the key, and one of them did not answer or is handing over its workspace */
  private async userOfKey(subject: Subject): Promise<DirectoryUser | undefined> {
    let failure: Error | undefined;
    for (const cell of this.all()) {
      try {
        const user = await cell?.directory.userOf(subject);
        if (user !== undefined) return user;
        if (cell === undefined) failure ??= unavailable('A database that may have the key is away.');
      } catch (error) {
        if (!isUnavailable(error)) throw error;
        failure ??= error;
      }
    }
    if (failure !== undefined) throw failure;
    return undefined;
  }

  /** The cells that have no such key do nothing. */
  override async noteKeyUse(keyId: ServiceAccountKeyId): Promise<void> {
    await Promise.all(this.all().flatMap((cell) => (cell ? [cell.directory.noteKeyUse(keyId)] : [])));
  }
}
