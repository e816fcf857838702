interface Piece {
  readonly bytes: Buffer;
  readonly dueAt: number;
}

/** Passes pieces of data on after a delay, always in the order in which they arrived, also while the delay changes. */
export class DelayedPipe {
  private readonly waiting: Piece[] = [];
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly write: (bytes: Buffer) => void) {}

  pass(bytes: Buffer, delayMs: number): void {
    if (delayMs === 0 && this.waiting.length === 0) return this.write(bytes);
    this.waiting.push({ bytes, dueAt: Date.now() + delayMs });
    this.wait();
  }

  /** Drops what still waits. */
  end(): void {
    clearTimeout(this.timer);
    this.waiting.length = 0;
  }

  private wait(): void {
    const [first] = this.waiting;
    if (first === undefined || this.timer !== undefined) return;
    this.timer = setTimeout(
      () => {
        this.timer = undefined;
        this.writeDue();
        this.wait();
      },
      Math.max(0, first.dueAt - Date.now()),
    );
  }

  private writeDue(): void {
    const now = Date.now();
    while (this.waiting[0] !== undefined && this.waiting[0].dueAt <= now) {
      this.write((this.waiting.shift() as Piece).bytes);
    }
  }
}
