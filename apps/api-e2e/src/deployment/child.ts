import { type ChildProcess, spawn } from 'node:child_process';
import { type Ending, Output } from '../launch.js';

/** A user of this machine, by number. */
export interface OsUser {
  readonly uid: number;
  readonly gid: number;
}

interface ChildOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** The user as which it runs, if it is another one. */
  readonly uid?: number;
  readonly gid?: number;
}

/** A process of the composition. It ends with this process at the latest. */
export class Child {
  readonly output: Output;
  readonly ended: Promise<Ending>;
  private readonly child: ChildProcess;

  constructor(
    readonly name: string,
    { command, args, ...options }: ChildOptions,
  ) {
    this.child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
    this.output = new Output(this.child);
    const killWithUs = () => this.child.kill('SIGKILL');
    process.once('exit', killWithUs);
    this.ended = new Promise((resolve, reject) => {
      this.child.once('error', reject);
      this.child.once('close', (code, signal) => {
        process.off('exit', killWithUs);
        resolve({ code, signal });
      });
    });
    // A caller that waits receives the error. Without a listener, it would end this process.
    this.ended.catch(() => undefined);
  }

  get pid(): number | undefined {
    return this.child.pid;
  }

  /** Waits until the output matches. @throws Error with the output if the process ends before */
  async matched(pattern: RegExp): Promise<string> {
    const match = await Promise.race([this.output.matched(pattern), this.ended.then(() => undefined)]);
    if (match === undefined) throw new Error(`${this.name} ended:\n${this.output.text.slice(-4_000)}`);
    return match;
  }

  /** Waits until it ends, and returns its standard output. @throws Error unless the exit code is 0 */
  async succeeded(): Promise<string> {
    const { code, signal } = await this.ended;
    if (code !== 0) throw new Error(`${this.name} ended with ${signal ?? code}:\n${this.output.text.slice(-4_000)}`);
    return this.output.stdout;
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<Ending> {
    this.child.kill(signal);
    return this.ended;
  }
}
