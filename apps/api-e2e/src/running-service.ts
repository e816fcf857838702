import type { ChildProcess } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { attachEmbeddedServer } from '@banking/embedded-postgres';
import { copyDataDirTemplate } from '@banking/postgres/testing';
import { type Ending, launch, type LaunchOptions, type Output } from './launch.js';

/** Long enough for a first start, which creates a database cluster and the demo data, on a busy machine. */
const START_MS = 120_000;
/** Longer than the eighteen seconds after which the service exits. */
const STOP_MS = 25_000;

/** The built service in a separate process. */
export class RunningService {
  private isStopping = false;

  private constructor(
    readonly url: string,
    readonly dataDir: string,
    private readonly child: ChildProcess,
    readonly ended: Promise<Ending>,
    private readonly output: Output,
  ) {}

  /** Resolves when it reports that it is ready. @throws Error with its output if it ends before */
  static async start(options: LaunchOptions): Promise<RunningService> {
    const { child, ended, output } = launch('api', options);
    const deadline = setTimeout(() => child.kill('SIGKILL'), START_MS);
    try {
      const url = await Promise.race([output.matched(/^Ready on (http\S+).*\n/m), ended.then(() => undefined)]);
      if (url === undefined) throw new Error(`the service did not start:\n${output.text}`);
      return new RunningService(url, options.dataDir, child, ended, output);
    } finally {
      clearTimeout(deadline);
    }
  }

  get pid(): number | undefined {
    return this.child.pid;
  }

  /** Its output so far. */
  get log(): string {
    return this.output.text;
  }

  /** Waits for a match in the output. */
  async logged(pattern: RegExp): Promise<string> {
    return this.output.matched(pattern);
  }

  signal(signal: NodeJS.Signals): void {
    this.isStopping = true;
    this.child.kill(signal);
  }

  /**
   * Stops it as from a terminal, without the delay for load balancers.
   *
   * @throws Error if it does not end with exit code 0
   */
  async stop(): Promise<void> {
    // A second signal would end it at once.
    if (!this.isStopping) this.signal('SIGINT');
    const deadline = setTimeout(() => this.signal('SIGKILL'), STOP_MS);
    const { code, signal } = await this.ended;
    clearTimeout(deadline);
    if (code === 0) return;
    if (signal === 'SIGKILL') await stopDatabase(this.dataDir);
    throw new Error(`the service ended with ${signal ?? `exit code ${code}`}:\n${this.log.slice(-4_000)}`);
  }
}

/** Runs a service that is expected to refuse its start. */
export async function refusedStart(
  options: LaunchOptions,
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const { child, ended, output } = launch('api', options);
  const deadline = setTimeout(() => child.kill('SIGKILL'), START_MS);
  const stopped = output.matched(/^Ready on .*\n/m).then(() => child.kill('SIGINT'));
  const { code } = await Promise.race([ended, stopped.then(() => ended)]);
  clearTimeout(deadline);
  return { code, stdout: output.stdout, stderr: output.stderr };
}

/** A DATA_DIR that the spec removes. */
export interface TestDataDir {
  readonly path: string;
  remove(): Promise<void>;
}

/** An empty DATA_DIR. The first start creates the database, and in a sandbox the demo data. */
export async function newDataDir(): Promise<TestDataDir> {
  const path = await mkdtemp(join(tmpdir(), 'banking-e2e-'));
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}

/** A DATA_DIR with the demo data, copied from the template of the run. */
export async function demoDataDir(): Promise<TestDataDir> {
  const folder = await newDataDir();
  await copyDataDirTemplate(folder.path);
  return folder;
}

/** Stops the database that a killed service has left running, by attaching and detaching. */
async function stopDatabase(dataDir: string): Promise<void> {
  const server = await attachEmbeddedServer({ dataDir });
  await server.detach();
}
