import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';

const PROGRAM = join(__dirname, '../dist/end-with-run-main.js');

/** A process of the run, the file in which PostgreSQL writes the process of the server, or a mounted folder. */
type Ended = { readonly pid: number } | { readonly pidFile: string } | { readonly mount: string };

/** One line to the program: a process that is to end with the run, or that has ended already. */
export type Registration = Ended & { readonly isRunning: boolean };

/**
 * Ends the processes of a run that was killed. A program of its own reads what this process registers, and ends all of it when its
 * standard input closes: SIGKILL leaves this process no time to do so itself.
 */
class RunEnd {
  private program: ChildProcess | undefined;

  /** Registers a process that is running, until it is registered as ended. */
  add(ended: Ended): void {
    this.write({ ...ended, isRunning: true });
  }

  remove(ended: Ended): void {
    this.write({ ...ended, isRunning: false });
  }

  private write(line: Registration): void {
    this.program ??= this.start();
    this.program.stdin?.write(`${JSON.stringify(line)}\n`);
  }

  private start(): ChildProcess {
    // A session of its own, which Ctrl-C does not reach.
    const program = spawn(process.execPath, [PROGRAM], { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
    program.on('error', () => undefined);
    program.stdin.on('error', () => undefined);
    // Neither keeps the run from ending.
    program.unref();
    (program.stdin as unknown as { unref(): void }).unref();
    return program;
  }
}

/** One for this process. */
export const runEnd = new RunEnd();
