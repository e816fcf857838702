import { type Database, isUnavailable, VERIFIER_ROLE } from '@banking/postgres';
import { describeLost, type DifferingRows, differingRows, inDatabase, lostRows, slotOfCopy } from './compare-copy.js';
import { describeUnserved, unservedWorkspaces } from './places.js';
import type { KnownCell } from './verify-over-cells.js';

/** The pages that one turn reads at most. */
const TURN_PAGES = 20;
const IDLE_MS = 5_000;
/** For how long a turn waits until a copy has received what home had committed. Rows that differ are compared again by the next pass. */
const WAIT_MS = 1_000;

/**
 * Compares the cells with home over and over, in turns of bounded size, while the service runs: a chore of the worker of home. A copy of the
 * directory that lacks changes serves roles that were taken away, and PostgreSQL does not report it. A workspace that its cell does not serve
 * is refused to its callers as if it was being moved.
 */
export class CopiesComparison {
  readonly name = 'copies-of-the-directory';
  readonly idleMs = IDLE_MS;
  readonly run = (): Promise<number> => this.compareNext();
  private readonly lost = new Set<string>();
  /** By the name of the cell. */
  private readonly unserved = new Map<string, readonly number[]>();
  private steps: AsyncGenerator<void, void, undefined> | undefined;

  /** @param warn reports a lost copy, or a workspace that is not served, once */
  constructor(
    private readonly cells: () => readonly KnownCell[],
    private readonly warn: (line: string) => void = () => undefined,
  ) {}

  /** Whether the copy of a cell could not follow, or rows differed for good, when it was compared last. */
  isLost(cellName: string): boolean {
    return this.lost.has(cellName);
  }

  /** How many workspaces home placed in a cell that did not serve them, when they were compared last. */
  unservedIn(cellName: string): number {
    return this.unserved.get(cellName)?.length ?? 0;
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
    const cells = this.cells();
    const [home] = cells;
    for (const { number, name, database } of cells) {
      if (home?.database === undefined || database === undefined) continue;
      try {
        yield* this.comparePlaces(home.database, database, { number, name });
        if (number !== 0) yield* this.compareOne(home.database, database, name);
      } catch (error) {
        // The loops of the databases that are away report it.
        if (!isUnavailable(error)) throw error;
      }
    }
  }

  private async *comparePlaces(
    home: Database,
    cell: Database,
    { number, name }: Pick<KnownCell, 'number' | 'name'>,
  ): AsyncGenerator<void, void, undefined> {
    const [atHome, inCell] = [inDatabase(home.as(VERIFIER_ROLE)), inDatabase(cell.as(VERIFIER_ROLE))];
    const found: number[] = [];
    for await (const ids of unservedWorkspaces(atHome, inCell, number)) {
      found.push(...ids);
      yield;
    }
    const known = this.unserved.get(name) ?? [];
    for (const id of found)
      if (!known.includes(id)) this.warn(`A workspace is not served: ${describeUnserved(name, id)}.`);
    this.unserved.set(name, found);
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
