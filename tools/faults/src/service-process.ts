import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { closeSync, openSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { runEnd } from './end-with-run.js';

const ROOT = join(__dirname, '../../..');
const START_MS = 120_000;
const STOP_MS = 25_000;

export type App = 'api' | 'worker';

/** What differs between the processes of a cluster. */
export interface ServiceOptions {
  readonly app: App;
  readonly name: string;
  /** Of the HTTP interface, or of the health checks of a worker. */
  readonly port: number;
  readonly logFile: string;
  readonly environment: Readonly<Record<string, string>>;
}

/** A built process that can be killed, paused and started again, always with the same address and settings. */
export class ServiceProcess {
  private child: ChildProcess | undefined;
  private isPaused = false;
  private isEnding = false;
  private isAbandoned = false;
  /** How the process ended without a signal of ours. A service survives the loss of its database. */
  readonly ownEnds: string[] = [];

  constructor(private readonly options: ServiceOptions) {}

  get name(): string {
    return this.options.name;
  }

  /** Undefined before the start. */
  get pid(): number | undefined {
    return this.child?.pid;
  }

  get url(): string {
    return `http://127.0.0.1:${this.options.port}`;
  }

  get isRunning(): boolean {
    return this.child !== undefined && this.child.exitCode === null && this.child.signalCode === null;
  }

  /** Starts the process and waits until it is ready. @throws Error if it ends before */
  async start(extra: Readonly<Record<string, string>> = {}): Promise<void> {
    if (this.isAbandoned) throw new Error(`the run has ended, so ${this.name} is not started`);
    const { app, port, logFile, environment } = this.options;
    const log = openSync(logFile, 'a');
    const own = app === 'api' ? { PORT: String(port), WORKER: 'off' } : { HEALTH_PORT: String(port) };
    const child = spawn(process.execPath, [join(ROOT, 'apps', app, 'dist/main.js')], {
      env: { PATH: process.env['PATH'], LOG_FORMAT: 'json', ...environment, ...own, ...extra },
      stdio: ['ignore', log, log],
    });
    closeSync(log);
    this.child = child;
    this.isPaused = false;
    this.isEnding = false;
    const killWithUs = () => child.kill('SIGKILL');
    process.once('exit', killWithUs);
    const registered = child.pid === undefined ? undefined : { pid: child.pid };
    if (registered !== undefined) runEnd.add(registered);
    child.once('exit', (code, signal) => {
      process.off('exit', killWithUs);
      if (registered !== undefined) runEnd.remove(registered);
      if (!this.isEnding) this.ownEnds.push(`${this.name} ended by itself with ${signal ?? `exit code ${code}`}`);
    });
    await this.ready();
  }

  /** Resolves when the process is ready. @throws Error if it ends or is not ready in time */
  async ready(): Promise<void> {
    const until = Date.now() + START_MS;
    while (!(await isReady(this.url))) {
      if (!this.isRunning || Date.now() > until) {
        throw new Error(`${this.name} did not become ready; see ${this.options.logFile}`);
      }
      await sleep(25);
    }
  }

  async kill(): Promise<void> {
    await this.end('SIGKILL');
  }

  /** Kills the process for good: it is not started again. */
  async abandon(): Promise<void> {
    this.isAbandoned = true;
    await this.kill();
  }

  pause(): void {
    this.isPaused = this.child?.kill('SIGSTOP') === true;
  }

  resume(): void {
    if (this.isPaused) this.child?.kill('SIGCONT');
    this.isPaused = false;
  }

  /** Stops the process as a terminal does, and kills it if it does not end. */
  async stop(): Promise<void> {
    this.resume();
    const deadline = setTimeout(() => this.child?.kill('SIGKILL'), STOP_MS);
    await this.end('SIGINT');
    clearTimeout(deadline);
  }

  /** Stops the process as a supervisor does, and kills it if it does not end. */
  async terminate(): Promise<{ readonly code: number | null; readonly ms: number }> {
    const { child } = this;
    const beganAt = Date.now();
    const deadline = setTimeout(() => child?.kill('SIGKILL'), STOP_MS);
    await this.end('SIGTERM');
    clearTimeout(deadline);
    return { code: child?.exitCode ?? null, ms: Date.now() - beganAt };
  }

  private async end(signal: NodeJS.Signals): Promise<void> {
    const { child } = this;
    if (child === undefined || !this.isRunning) return;
    this.isEnding = true;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill(signal);
    await ended;
  }
}

async function isReady(url: string): Promise<boolean> {
  try {
    return (await fetch(`${url}/health/ready`, { signal: AbortSignal.timeout(2_000) })).ok;
  } catch {
    return false;
  }
}

/** Below the ports that Linux gives to a program that asks for any free one. */
const PORTS = [15_000, 32_000] as const;

/**
 * A port that no process listens on now. Programs that take any free port do not get it before it is used, because it is not among
 * those that the system gives them.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(...PORTS);
    const probe = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      probe.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true));
    });
    if (!isFree) continue;
    await new Promise((resolve) => probe.close(resolve));
    return port;
  }
}
