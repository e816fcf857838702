import type { ChildProcess } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { joinEmbeddedServer } from '@banking/postgres';
import { type Ending, launch, type LaunchWish, type Output } from './launch.js';

/** A first start makes a database cluster and the demo world, on a machine that may have other things to do. */
const START_MS = 120_000;
/** The service insists on going after eighteen seconds. */
const STOP_MS = 25_000;

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
  static async start(wish: LaunchWish): Promise<RunningService> {
    const { child, ended, output } = launch('api', wish);
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
  stop(): Promise<void> {
    return this.endBy('SIGTERM');
  }

  /** The same as from a terminal: no load balancer has to notice first. */
  interrupt(): Promise<void> {
    return this.endBy('SIGINT');
  }

  private async endBy(asked: NodeJS.Signals): Promise<void> {
    this.signal(asked);
    const deadline = setTimeout(() => this.signal('SIGKILL'), STOP_MS);
    const { code, signal } = await this.ended;
    clearTimeout(deadline);
    if (code === 0) return;
    if (signal === 'SIGKILL') await stopDatabase(this.dataDir);
    throw new Error(`the service ended with ${signal ?? `exit code ${code}`}:\n${this.log.slice(-4_000)}`);
  }
}

/** Runs the service where it is expected not to start. */
export async function refusedStart(wish: LaunchWish): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const { child, ended, output } = launch('api', wish);
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

/** A service that was killed leaves its database running: whoever joins it and leaves last stops it. */
async function stopDatabase(dataDir: string): Promise<void> {
  const server = await joinEmbeddedServer({ dataDir });
  await server.leave();
}
