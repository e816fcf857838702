import { Directory, type DirectoryUser, KEY_ISSUER, type ServiceAccountKeyId, type Subject } from '@banking/domain';
import { isUnavailable, unavailable } from '@banking/postgres';
import { AwayCircuit } from './other-cells.js';

/** For how long copies of the directory answer after home last did. A change of rights during that time has no effect on this process. */
export const COPIES_VALID_MS = 15 * 60_000;

/** Calls home, and the copies of its tables in the other cells while home is away. */
export class HomeOrCopies<T> {
  private answeredAtMs: number;
  /** Where home does not answer, an attempt may take a second: one call tries it, and the others read a copy. */
  private readonly circuit: AwayCircuit;

  /** @param copies those of the cells that are open, in any order */
  constructor(
    private readonly home: T,
    private readonly copies: () => readonly T[],
    private readonly nowMs: () => number = () => performance.now(),
  ) {
    this.answeredAtMs = nowMs();
    this.circuit = new AwayCircuit(nowMs);
  }

  /**
   * @param read changes nothing
   * @param isKnown whether the result of a copy is used. Default: always
   * @throws Refusal `unavailable` if neither home nor a copy answers, or home has been away for too long
   */
  async read<R>(read: (source: T) => Promise<R>, isKnown: (result: R) => boolean = () => true): Promise<R> {
    const copies = this.areCopiesValid ? this.copies() : [];
    if (copies.length > 0) {
      try {
        return await this.circuit.call(() => this.readHome(read));
      } catch (error) {
        if (!isUnavailable(error)) throw error;
      }
    }
    for (const copy of copies) {
      try {
        const result = await read(copy);
        if (isKnown(result)) return result;
      } catch (error) {
        if (!isUnavailable(error)) throw error;
      }
    }
    return this.readHome(read);
  }

  /** Calls home, which alone can change the directory. */
  write<R>(write: (source: T) => Promise<R>): Promise<R> {
    return write(this.home);
  }

  private get areCopiesValid(): boolean {
    return this.nowMs() - this.answeredAtMs < COPIES_VALID_MS;
  }

  /** Any other error is an answer too. */
  private async readHome<R>(read: (source: T) => Promise<R>): Promise<R> {
    try {
      const result = await read(this.home);
      this.answeredAtMs = this.nowMs();
      return result;
    } catch (error) {
      if (!isUnavailable(error)) this.answeredAtMs = this.nowMs();
      throw error;
    }
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
