import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { send } from './orders.js';
import { runEnd } from './run-end.js';

const ROOT = join(__dirname, '../../..');
const START_MS = 120_000;
const STOP_MS = 25_000;

type Environment = Readonly<Record<string, string>>;

function startProgram(file: string, args: readonly string[], environment: Environment, output: number | 'pipe') {
  const child = spawn(process.execPath, [join(ROOT, file), ...args], {
    env: { PATH: process.env['PATH'], ...environment },
    stdio: ['ignore', output, output],
  });
  const killWithUs = () => child.kill('SIGKILL');
  process.once('exit', killWithUs);
  const registered = { pid: child.pid ?? 0 };
  runEnd.add(registered);
  child.once('exit', () => {
    process.off('exit', killWithUs);
    runEnd.remove(registered);
  });
  return child;
}

/** What a command such as `banking verify` printed. The exit code is null if it was killed. */
export interface CommandResult {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly output: string;
}

export interface RunningCommand {
  readonly done: Promise<CommandResult>;
  kill(): void;
}

export function startCommand(file: string, args: readonly string[], environment: Environment): RunningCommand {
  const child = startProgram(file, args, environment, 'pipe');
  let [stdout, output] = ['', ''];
  child.stdout?.setEncoding('utf8').on('data', (text: string) => ((stdout += text), (output += text)));
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (output += text));
  const done = once(child, 'close').then(([exitCode]) => ({ exitCode: exitCode as number | null, stdout, output }));
  return { done, kill: () => void child.kill('SIGKILL') };
}

interface ServiceOptions {
  readonly app: 'api' | 'worker';
  readonly name: string;
  readonly port: number;
  readonly logFile: string;
  readonly environment: Environment;
}

/** A built process that can be killed, paused and started again, always with the same address and settings. */
export class ServiceProcess {
  private child: ChildProcess | undefined;
  private isEnding = false;
  private isAbandoned = false;
  /** How the process ended without a signal of ours. A service survives the loss of its database. */
  readonly ownEnds: string[] = [];

  constructor(private readonly options: ServiceOptions) {}

  get name(): string {
    return this.options.name;
  }

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
  async start(extra: Environment = {}): Promise<void> {
    if (this.isAbandoned) throw new Error(`the run has ended, so ${this.name} is not started`);
    const { app, port, logFile, environment } = this.options;
    const log = openSync(logFile, 'a');
    const own = app === 'api' ? { PORT: String(port), WORKER: 'off' } : { HEALTH_PORT: String(port) };
    const all = { LOG_FORMAT: 'json', ...environment, ...own, ...extra };
    const child = startProgram(`apps/${app}/dist/main.js`, [], all, log);
    closeSync(log);
    this.child = child;
    this.isEnding = false;
    child.once('exit', (code, signal) => {
      if (!this.isEnding) this.ownEnds.push(`${this.name} ended by itself with ${signal ?? `exit code ${code}`}`);
    });
    await this.ready();
  }

  /** Resolves when the process is ready. @throws Error if it ends or is not ready in time */
  async ready(): Promise<void> {
    const until = Date.now() + START_MS;
    while ((await this.health('ready')) !== 200) {
      if (!this.isRunning || Date.now() > until) {
        throw new Error(`${this.name} did not become ready; see ${this.options.logFile}`);
      }
      await sleep(25);
    }
  }

  async health(check: 'ready' | 'live', limitMs = 2_000): Promise<number | undefined> {
    return (await send(`${this.url}/health/${check}`, { signal: AbortSignal.timeout(limitMs) })).status;
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
    this.child?.kill('SIGSTOP');
  }

  resume(): void {
    if (this.isRunning) this.child?.kill('SIGCONT');
  }

  /** Stops the process as a terminal does, or as a supervisor with SIGTERM, and kills it if it does not end. */
  async stop(signal: NodeJS.Signals = 'SIGINT'): Promise<{ readonly code: number | null; readonly ms: number }> {
    this.resume();
    const { child } = this;
    const beganAt = Date.now();
    const deadline = setTimeout(() => child?.kill('SIGKILL'), STOP_MS);
    await this.end(signal);
    clearTimeout(deadline);
    return { code: child?.exitCode ?? null, ms: Date.now() - beganAt };
  }

  private async end(signal: NodeJS.Signals): Promise<void> {
    const { child } = this;
    if (child === undefined || !this.isRunning) return;
    this.isEnding = true;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  }
}

/** Below the ports that Linux gives to a program that asks for any free one, so that none of them gets it before it is used. */
const PORTS = [15_000, 32_000] as const;

/** A port that no process listens on now. */
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
