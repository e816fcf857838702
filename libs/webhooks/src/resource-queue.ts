/** Items of which those of one resource are taken one after another, in the order in which they were added. */
export class ResourceQueue<Item extends { readonly resource: string }> {
  private readonly ready: Item[] = [];
  /** Of each resource that was taken or is ready: the items behind. */
  private readonly behind = new Map<string, Item[]>();
  private count = 0;

  /** How many items were added and not taken. */
  get waiting(): number {
    return this.count;
  }

  add(item: Item): void {
    this.count += 1;
    const behind = this.behind.get(item.resource);
    if (behind) return void behind.push(item);
    this.behind.set(item.resource, []);
    this.ready.push(item);
  }

  /** The next item whose resource has no other one out; undefined without any. */
  take(): Item | undefined {
    const item = this.ready.shift();
    if (item) this.count -= 1;
    return item;
  }

  /** After the request of a taken item has ended: the next item of its resource may be taken. */
  finish({ resource }: Item): void {
    const next = this.behind.get(resource)?.shift();
    if (next) this.ready.push(next);
    else this.behind.delete(resource);
  }
}
