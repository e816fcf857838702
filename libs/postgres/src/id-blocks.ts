import type { Database } from './database.js';
import { bind, sqlStatement } from './sql-statement.js';

/** A block is one list. Its ids need not be consecutive, because other processes draw from the same sequence. */
const drawIds = sqlStatement<{ ids: bigint[] }>(
  'draw-ids',
  'select array_agg(nextval($1::regclass)) as ids from generate_series(1, $2::int)',
);

/**
 * Ids from a sequence, fetched in blocks so that taking one needs no round trip.
 *
 * An id is never given twice, over all processes; ids that a process has fetched and not used are lost. The order of ids is
 * not the order of time.
 */
export class IdBlocks {
  private ids: number[] = [];
  private taken = 0;
  /** How many ids callers wait for, or may take in the present step. */
  private promised = 0;
  private fetching: Promise<void> | undefined;

  /** @param blockSize ids per fetch; the next block is fetched when half are used. */
  constructor(
    private readonly database: Pick<Database, 'read'>,
    private readonly sequence: string,
    private readonly blockSize = 256,
  ) {}

  /**
   * Resolves when `count` ids can be taken: at once on return, in the same synchronous step. An instance with a single caller
   * may also take them later.
   *
   * @throws Refusal `unavailable` when they could not be fetched.
   */
  async ready(count: number): Promise<void> {
    this.promised += count;
    try {
      while (this.left < this.promised) await this.fetch();
      if (this.left - count < this.blockSize / 2) this.fetch().catch(() => undefined);
    } finally {
      setImmediate(() => (this.promised -= count));
    }
  }

  /** Takes a unique id, larger than the one before. @throws Error when none was made ready: an error of the calling code. */
  take(): number {
    const id = this.ids[this.taken];
    if (id === undefined) throw new Error(`no id of ${this.sequence} is ready: await ready() first`);
    this.taken += 1;
    return id;
  }

  private get left(): number {
    return this.ids.length - this.taken;
  }

  /** One fetch at a time; later callers wait for the same one. */
  private fetch(): Promise<void> {
    return (this.fetching ??= this.draw().finally(() => (this.fetching = undefined)));
  }

  private async draw(): Promise<void> {
    const count = Math.max(this.blockSize, this.promised - this.left);
    const row = await this.database.read({}, bind(drawIds, this.sequence, count));
    this.ids = [...this.ids.slice(this.taken), ...(row?.ids ?? []).map(toId)];
    this.taken = 0;
  }
}

function toId(storedId: bigint): number {
  const id = Number(storedId);
  if (!Number.isSafeInteger(id)) throw new Error(`an id beyond 2^53 - 1: ${storedId}`);
  return id;
}
