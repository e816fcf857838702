/**
 * Remembers answers briefly, so that a burst asks once: also while the first answer is still on its way.
 * Bounded: the oldest answer leaves when there are too many. Errors are not remembered.
 */
export class Remember<T> {
  private readonly answers = new Map<string, { readonly answer: Promise<T>; readonly until: number }>();

  constructor(
    private readonly forMs: number,
    private readonly entriesMax: number,
    private readonly nowMs: () => number = Date.now,
  ) {}

  /** @param untilMs the instant an answer stops being true by itself */
  get(key: string, ask: () => Promise<T>, untilMs: (answer: T) => number = () => Infinity): Promise<T> {
    const known = this.answers.get(key);
    if (known && known.until > this.nowMs()) return known.answer;
    this.answers.delete(key);
    const answer = ask();
    const entry = { answer, until: this.nowMs() + this.forMs };
    this.answers.set(key, entry);
    const oldest = this.answers.keys().next();
    if (this.answers.size > this.entriesMax && !oldest.done) this.answers.delete(oldest.value);
    answer.then(
      (value) => {
        entry.until = Math.min(entry.until, untilMs(value));
      },
      () => this.forget(key, entry),
    );
    return answer;
  }

  get size(): number {
    return this.answers.size;
  }

  /** Asks anew next time. */
  forget(key: string, only?: object): void {
    if (only === undefined || this.answers.get(key) === only) this.answers.delete(key);
  }
}
