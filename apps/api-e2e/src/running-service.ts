import { type ChildProcess, spawn } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { joinEmbeddedServer } from '@banking/postgres';
import { bareEnvironment } from './config.js';

const MAIN = join(__dirname, '..', '..', 'api', 'dist', 'main.js');

/** A first start makes a database cluster and the demo world, on a machine that may have other things to do. */
const START_MS = 120_000;
/** The service insists on going after fifteen seconds. */
const STOP_MS = 25_000;

export interface ServiceWish {
  readonly dataDir: string;
  /** What it is configured with, beside a free port and a log of JSON lines. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Gets what it writes, as it writes it. */
  readonly logFile?: string;
}

/** How a process ended. */
export interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** The built service in a process of its own. */
export class RunningService {
  private constructor(
    readonly url: string,
    readonly dataDir: string,
    private readonly child: ChildProcess,
    readonly ended: Promise<Ending>,
    private readonly output: Output,
  ) {}

  /** Resolves when it says that it is ready. @throws Error with all it said, when it ends before */
  static async start(wish: ServiceWish): Promise<RunningService> {
    const { child, ended, output } = launch(wish);
    const deadline = setTimeout(() => child.kill('SIGKILL'), START_MS);
    try {
      const url = await Promise.race([output.matched(/^Ready on (http\S+).*\n/m), ended.then(() => undefined)]);
      if (url === undefined) throw new Error(`the service did not start:\n${output.text}`);
      return new RunningService(url, wish.dataDir, child, ended, output);
    } finally {
      clearTimeout(deadline);
    }
  }

  /** All it has written so far. */
  get log(): string {
    return this.output.text;
  }

  /** Resolves when it has written this. */
  async said(pattern: RegExp): Promise<string> {
    return this.output.matched(pattern);
  }

  signal(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** Asks it to stop and waits. @throws Error when it does not end by itself, with exit code 0 */
  async stop(): Promise<void> {
    this.signal('SIGTERM');
    const deadline = setTimeout(() => this.signal('SIGKILL'), STOP_MS);
    const { code, signal } = await this.ended;
    clearTimeout(deadline);
    if (code === 0) return;
    if (signal === 'SIGKILL') await stopDatabase(this.dataDir);
    throw new Error(`the service ended with ${signal ?? `exit code ${code}`}:\n${this.log.slice(-4_000)}`);
  }
}

/** Runs the service where it is expected not to start. */
export async function refusedStart(
  wish: ServiceWish,
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const { child, ended, output } = launch(wish);
  const deadline = setTimeout(() => child.kill('SIGKILL'), START_MS);
  const stopped = output.matched(/^Ready on .*\n/m).then(() => child.kill('SIGTERM'));
  const { code } = await Promise.race([ended, stopped.then(() => ended)]);
  clearTimeout(deadline);
  return { code, stdout: output.stdout, stderr: output.stderr };
}

/** A folder for the data of services, gone after the specs that use it. */
export async function newDataDir(): Promise<{ path: string; remove(): Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), 'banking-e2e-'));
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}

/** What a process has written, and a way to wait for more. */
class Output {
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

  /** The first group of the pattern, or all of it, once it has been written. */
  matched(pattern: RegExp): Promise<string> {
    return new Promise((resolve) => {
      const look = () => {
        const match = pattern.exec(this.stdout) ?? pattern.exec(this.stderr);
        if (match) resolve(match[1] ?? match[0]);
        else this.waiting.push(look);
      };
      look();
    });
  }

  private take(stream: 'stdout' | 'stderr', text: string): void {
    this[stream] += text;
    if (this.logFile !== undefined) appendFileSync(this.logFile, text);
    const waiting = this.waiting;
    this.waiting = [];
    for (const look of waiting) look();
  }
}

function launch({ dataDir, environment = {}, logFile }: ServiceWish) {
  const env = { ...bareEnvironment(), PORT: '0', LOG_FORMAT: 'json', DATA_DIR: dataDir, ...environment };
  const child = spawn(process.execPath, [MAIN], { env, stdio: ['ignore', 'pipe', 'pipe'] });
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

/** A service that was killed leaves its database running: whoever joins it and leaves last stops it. */
async function stopDatabase(dataDir: string): Promise<void> {
  const server = await joinEmbeddedServer({ dataDir });
  await server.leave();
}
