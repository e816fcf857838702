import { write, writeSync } from 'node:fs';

/** A write for each line cost a fifth of a cached read, so lines wait until there are this many characters, or for this long. */
const WRITTEN_CHARS = 15 * 1024;
const WRITTEN_AFTER_MS = 100;

/** How much waits while the output takes nothing. */
const WAITING_CHARS_MAX = 16 * 1024 * 1024;

/** How long the end of the process waits for an output that takes nothing at the moment, and how often it tries. */
const EXIT_WAIT_MS = 1_000;
const EXIT_RETRY_MS = 10;

/** Errors of an output that does not block and whose reader is behind. */
const BUSY: readonly (string | undefined)[] = ['EAGAIN', 'EBUSY'];

/** The functions of `node:fs` that write. */
interface Writes {
  write(descriptor: number, bytes: Buffer, done: (error: Error | null, written: number) => void): void;
  writeSync(descriptor: number, bytes: Buffer): number;
}

const NOTHING = Buffer.alloc(0);

/**
 * Writes the lines of a log together. An output that fails, such as a full disk or a pipe without a reader, neither ends nor blocks the
 * process: lines wait, and those above the limit are dropped. What waits is written when the process exits, unless SIGKILL ends it.
 */
export class LogDestination {
  private lines = '';
  /** What is left of the lines that are being written. */
  private rest = NOTHING;
  private isWriting = false;
  /** Whether the last write failed. The next attempt is then that of the timer, not of each line. */
  private isFailing = false;
  private dropped = 0;
  private timer: NodeJS.Timeout | undefined;

  /** @param onDropped called once the output takes lines again, with the number of those dropped meanwhile */
  constructor(
    private readonly descriptor: number,
    private readonly onDropped: (lines: number) => void,
    private readonly waitingCharsMax = WAITING_CHARS_MAX,
    private readonly system: Writes = { write, writeSync },
  ) {
    process.on('exit', () => this.writeAtExit());
  }

  write(line: string): void {
    if (this.lines.length + line.length > this.waitingCharsMax) {
      this.dropped += 1;
      return;
    }
    this.lines += line;
    this.writeWhenDue();
  }

  private writeWhenDue(): void {
    if (this.isWriting) return;
    if (!this.isFailing && this.lines.length >= WRITTEN_CHARS) return this.writeNow();
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      this.writeNow();
    }, WRITTEN_AFTER_MS).unref();
  }

  private writeNow(): void {
    if (this.isWriting || !this.take()) return;
    this.isWriting = true;
    this.system.write(this.descriptor, this.rest, (error, written) => {
      this.isWriting = false;
      this.isFailing = error !== null;
      // A part of a line may have been written. The rest follows it once the output takes more.
      if (!error) this.rest = this.rest.subarray(written);
      if (!error && this.rest.length > 0) this.writeNow();
      else if (error || this.lines.length > 0) this.writeWhenDue();
    });
  }

  /** @returns whether there is something to write */
  private take(): boolean {
    if (this.rest.length > 0) return true;
    this.rest = Buffer.from(this.lines);
    this.lines = '';
    const { dropped } = this;
    this.dropped = 0;
    if (dropped > 0) this.onDropped(dropped);
    return this.rest.length > 0;
  }

  private writeAtExit(): void {
    // The system writes these meanwhile.
    if (this.isWriting) this.rest = NOTHING;
    const untilMs = performance.now() + EXIT_WAIT_MS;
    while (this.take()) {
      try {
        this.rest = this.rest.subarray(this.system.writeSync(this.descriptor, this.rest));
      } catch (error) {
        if (!BUSY.includes((error as NodeJS.ErrnoException).code) || performance.now() > untilMs) return;
        // No timer runs any more.
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, EXIT_RETRY_MS);
      }
    }
  }
}
