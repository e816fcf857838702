import { type CellBooks } from '@banking/books-proof';
import { type Database, isUnavailable, VERIFIER_ROLE } from '@banking/postgres';
import { differingRows, inDatabase, lostRows, slotOfCopy } from './compare-copy.js';

/** The pages that one turn reads at most. */
const TURN_PAGES = 20;
const IDLE_MS = 5_000;
/** For how long a turn waits until a copy has received what home had committed. Rows that differ are compared again by the next pass. */
const WAIT_MS = 1_000;

/** A cell of the process; its database is undefined while it is away. */
interface KnownCell extends Omit<CellBooks, 'database'> {
  readonly database: Database | undefined;
}

/**
 * Compares the copies of the directory with home over and over, in turns of bounded size, while the service runs: a chore of the worker of
 * home. A copy that lacks changes serves roles that were taken away, and PostgreSQL does not report it.
 */
export class CopiesComparison {
  readonly name = 'copies-of-the-directory';
  readonly idleMs = IDLE_MS;
  readonly run = (): Promise<number> => this.compareNext();
  private readonly lost = new Set<string>();
  private steps: AsyncGenerator<void, void, undefined> | undefined;

  constructor(private readonly cells: () => readonly KnownCell[]) {}

  /** Whether rows of the copy of a cell differed for good in the last comparison. */
  isLost(cellName: string): boolean {
    return this.lost.has(cellName);
  }

  /** Takes the next turn. Returns 0: the next one waits. */
  async compareNext(): Promise<number> {
    for (let page = 0; page < TURN_PAGES; page += 1) {
      const { done } = await (this.steps ??= this.compareAll()).next();
      if (done !== true) continue;
      this.steps = undefined;
      break;
    }
    return 0;
  }

  private async *compareAll(): AsyncGenerator<void, void, undefined> {
    const [home, ...others] = this.cells();
    for (const cell of others) {
      if (home?.database === undefined || cell.database === undefined) continue;
      try {
        yield* this.compareOne(home.database, cell.database, cell.name);
      } catch (error) {
        // The loops of the databases that are away report it.
        if (!isUnavailable(error)) throw error;
      }
    }
  }

  private async *compareOne(home: Database, cell: Database, name: string): AsyncGenerator<void, void, undefined> {
    const [atHome, inCell] = [inDatabase(home.as(VERIFIER_ROLE)), inDatabase(cell.as(VERIFIER_ROLE))];
    let isLost = false;
    for await (const differing of differingRows(atHome, inCell)) {
      const { slot } = await slotOfCopy(atHome, name);
      // Without a slot, home knows that the copy is lost.
      if (slot === undefined) return;
      if (differing.length > 0) {
        const { lost, isFollowing } = await lostRows(atHome, inCell, slot, differing, WAIT_MS);
        if (!isFollowing) return;
        isLost ||= lost.length > 0;
        if (isLost) this.lost.add(name);
      }
      yield;
    }
    if (!isLost) this.lost.delete(name);
  }
}
