import { LRUCache } from 'lru-cache';

export interface ExpiringCacheOptions<T> {
  /** How many results are stored. The least recently used result is removed first. */
  readonly entriesMax: number;
  /** How long a value is valid, counted from the start of its load. */
  readonly ttlMs: number | ((value: T) => number);
  /** How long a failure is returned without another attempt, counted from the failure. Default 0: failures are not stored. */
  readonly failureTtlMs?: number | ((error: unknown) => number);
  /** Milliseconds of a monotonic clock. Default: `performance.now()`. */
  readonly nowMs?: () => number;
}

/** How a load has ended, and until when that is valid. */
type Result<T> = { readonly untilMs: number } & ({ readonly value: T } | { readonly error: unknown });

/** A stored result, with the number of its load. */
type Entry<T> = Result<T> & { readonly load: number };

/** A load that has not ended. */
interface PendingLoad<T> {
  readonly load: number;
  readonly result: Promise<T>;
}

/**
 * Stores the results of asynchronous loads by key until they expire. Concurrent calls with one key share one load, so a burst of
 * calls costs one load.
 */
export class ExpiringCache<T> {
  private readonly entries: LRUCache<string, Entry<T>>;
  private readonly pending = new Map<string, PendingLoad<T>>();
  private readonly nowMs: () => number;
  private loads = 0;

  constructor(private readonly options: ExpiringCacheOptions<T>) {
    this.entries = new LRUCache({ max: options.entriesMax });
    this.nowMs = options.nowMs ?? (() => performance.now());
  }

  /** How many results are stored, expired ones included. */
  get size(): number {
    return this.entries.size;
  }

  /** The stored value, if there is a valid one. */
  peek(key: string): T | undefined {
    const entry = this.validEntry(key);
    return entry && 'value' in entry ? entry.value : undefined;
  }

  /**
   * The stored value, or the result of a load.
   *
   * @throws what `load` throws, or the stored failure
   */
  get(key: string, load: () => Promise<T>): Promise<T> {
    const entry = this.validEntry(key);
    if (entry) return 'value' in entry ? Promise.resolve(entry.value) : Promise.reject(entry.error as Error);
    return this.pending.get(key)?.result ?? this.refresh(key, load);
  }

  /**
   * Loads a value even if one is stored or a load is pending. The result of the latest load is the one that stays stored.
   *
   * @throws what `load` throws
   */
  refresh(key: string, load: () => Promise<T>): Promise<T> {
    const startedMs = this.nowMs();
    const pending = { load: ++this.loads, result: load() };
    this.pending.set(key, pending);
    const { ttlMs, failureTtlMs = 0 } = this.options;
    pending.result.then(
      (value) => this.settle(key, pending, { value, untilMs: startedMs + durationOf(ttlMs, value) }),
      (error: unknown) => this.settle(key, pending, { error, untilMs: this.nowMs() + durationOf(failureTtlMs, error) }),
    );
    return pending.result;
  }

  /** Stores the result no longer. */
  delete(key: string): void {
    this.entries.delete(key);
  }

  private validEntry(key: string): Entry<T> | undefined {
    const entry = this.entries.get(key);
    return entry && this.nowMs() < entry.untilMs ? entry : undefined;
  }

  private settle(key: string, pending: PendingLoad<T>, result: Result<T>): void {
    if (this.pending.get(key) === pending) this.pending.delete(key);
    const stored = this.entries.peek(key);
    const isSuperseded = stored !== undefined && stored.load > pending.load;
    if (isSuperseded || this.nowMs() >= result.untilMs) return;
    this.entries.set(key, { ...result, load: pending.load });
  }
}

function durationOf<T>(duration: number | ((result: T) => number), result: T): number {
  return typeof duration === 'number' ? duration : duration(result);
}
