import { type Database, isUnavailable, VERIFIER_ROLE } from '@banking/postgres';
import { describeLost, type DifferingRows, differingRows, inDatabase, lostRows, slotOfCopy } from './compare-copy.js';
import type { KnownCell } from './verify-over-cells.js';

/** The pages that one turn reads at most. */
const TURN_PAGES = 20;
const IDLE_MS = 5_000;
/** For how long a turn waits until a copy has received what home had committed. Rows that differ are compared again by the next pass. */
const WAIT_MS = 1_000;

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

  /** @param warn reports a lost copy, once */
  constructor(
    private readonly cells: () => readonly KnownCell[],
    private readonly warn: (line: string) => void = () => undefined,
  ) {}

  /** Whether the copy of a cell could not follow, or rows differed for good, when it was compared last. */
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
    const { slot, isLost: cannotFollow } = await slotOfCopy(atHome, name);
    if (slot === undefined || cannotFollow) return this.note(name, []);
    let isLost = false;
    for await (const differing of differingRows(atHome, inCell)) {
      const { lost, isFollowing } = await lostRows(atHome, inCell, slot, differing, WAIT_MS);
      if (!isFollowing) return;
      if (lost.length > 0) {
        isLost = true;
        this.note(name, lost);
      }
      yield;
    }
    if (!isLost) this.lost.delete(name);
  }

  private note(cellName: string, lost: readonly DifferingRows[]): void {
    if (!this.lost.has(cellName)) this.warn(`A copy is lost: ${describeLost(cellName, lost)}.`);
    this.lost.add(cellName);
  }
}
