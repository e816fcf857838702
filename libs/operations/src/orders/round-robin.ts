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

  /** The next item of the key whose turn it is, which then has its turn after all others. */
  shift(): T | undefined {
    const [next] = this.rows;
    if (!next) return undefined;
    const [key, row] = next;
    const item = row.shift();
    this.rows.delete(key);
    if (row.length > 0) this.rows.set(key, row);
    return item;
  }
}
