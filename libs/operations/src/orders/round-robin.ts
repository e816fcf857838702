/** Items by key, taken one of each key in turn: the items of one key keep their order, and a long row delays others by one item. */
export class RoundRobin<K, T> {
  /** In the order of their turns. */
  private readonly rows = new Map<K, T[]>();

  get isEmpty(): boolean {
    return this.rows.size === 0;
  }

  push(key: K, item: T): void {
    const row = this.rows.get(key);
    if (row) row.push(item);
    else this.rows.set(key, [item]);
  }

  /**
   * The next item of the key whose turn it is, which then has its turn after all others.
   *
   * @param mayTake whether an item may be taken now; one that may not keeps its place and delays no other
   */
  shift(mayTake: (item: T) => boolean = () => true): T | undefined {
    for (const [key, row] of this.rows) {
      const at = row.findIndex(mayTake);
      if (at < 0) continue;
      const [item] = row.splice(at, 1);
      this.rows.delete(key);
      if (row.length > 0) this.rows.set(key, row);
      return item;
    }
    return undefined;
  }

  /** Removes an item that gives up its place; the turn of its key stays. */
  remove(key: K, item: T): void {
    const row = this.rows.get(key);
    const at = row?.indexOf(item) ?? -1;
    if (row === undefined || at < 0) return;
    row.splice(at, 1);
    if (row.length === 0) this.rows.delete(key);
  }
}
