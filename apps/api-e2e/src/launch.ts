import { type ChildProcess, spawn } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { bareEnvironment } from './config.js';

/** The data and the settings of a program that runs until it is stopped. */
export interface LaunchOptions {
  readonly dataDir: string;
  /** Its environment variables, besides those for a free port and a log of JSON lines. */
  readonly environment?: Readonly<Record<string, string>> | undefined;
  /** The file to which its output is appended. */
  readonly logFile?: string | undefined;
}

/** How a process ended. */
export interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** The output of a process. */
export class Output {
  stdout = '';
  stderr = '';
  private waiting: (() => void)[] = [];

  constructor(
    child: ChildProcess,
    private readonly logFile?: string,
  ) {
    child.stdout?.setEncoding('utf8').on('data', (text: string) => this.take('stdout', text));
    child.stderr?.setEncoding('utf8').on('data', (text: string) => this.take('stderr', text));
  }

  get text(): string {
    return this.stdout + this.stderr;
  }

  /** Waits for a match of the pattern, and returns its first group or the whole match. */
  matched(pattern: RegExp): Promise<string> {
    return new Promise((resolve) => {
      const check = () => {
        const match = pattern.exec(this.stdout) ?? pattern.exec(this.stderr);
        if (match) resolve(match[1] ?? match[0]);
        else this.waiting.push(check);
      };
      check();
    });
  }

  private take(stream: 'stdout' | 'stderr', text: string): void {
    this[stream] += text;
    if (this.logFile !== undefined) appendFileSync(this.logFile, text);
    const waiting = this.waiting;
    this.waiting = [];
    for (const check of waiting) check();
  }
}

/** Starts a built program in a new process, which ends with this process. */
export function launch(app: 'api' | 'worker', { dataDir, environment = {}, logFile }: LaunchOptions) {
  const main = join(__dirname, '..', '..', app, 'dist', 'main.js');
  // All callers of a spec have one address.
  const usual = { PORT: '0', LOG_FORMAT: 'json', DATA_DIR: dataDir, CONNECTIONS_PER_ADDRESS: '1000' };
  const env = { ...bareEnvironment(), ...usual, ...environment };
  const child = spawn(process.execPath, [main], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const output = new Output(child, logFile);
  const killWithUs = () => child.kill('SIGKILL');
  process.once('exit', killWithUs);
  const ended = new Promise<Ending>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      process.off('exit', killWithUs);
      resolve({ code, signal });
    });
  });
  return { child, ended, output };
}
