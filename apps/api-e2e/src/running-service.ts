import { fetchDocument } from './documented/read-document.js';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { attachEmbeddedServer, type EmbeddedServer } from '@banking/embedded-postgres';
import { copyDataDirTemplate } from '@banking/postgres/testing';
import { bareEnvironment } from './config.js';
import { type DemoIds, localToken, type Service, serviceOfTheRun } from './service.js';
import { type Document } from './documented/document.js';

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

/** Starts a built program in a new process, which ends with this process. @param args of its command line */
export function launch(
  app: 'api' | 'worker' | 'cli',
  { dataDir, environment = {}, logFile }: LaunchOptions,
  ...args: readonly string[]
) {
  const main = join(__dirname, '..', '..', app, 'dist', 'main.js');
  // All callers of a spec have one address.
  const usual = { PORT: '0', LOG_FORMAT: 'json', DATA_DIR: dataDir, CONNECTIONS_PER_ADDRESS: '1000' };
  const env = { ...bareEnvironment(), ...usual, ...environment };
  const child = spawn(process.execPath, [main, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
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

const MAIN = join(__dirname, '..', '..', 'cli', 'dist', 'main.js');

/** Longer than any command on a slow machine. */
const TIMEOUT_MS = 240_000;

/** Runs the command `banking` on a DATA_DIR and returns its standard output. @throws Error with its standard error */
export function banking(dataDir: string, ...args: string[]): Promise<string> {
  return bankingWith({ DATA_DIR: dataDir }, ...args);
}

/** Runs the command `banking` with further environment variables. */
export async function bankingWith(settings: Readonly<Record<string, string>>, ...args: string[]): Promise<string> {
  const env = { ...bareEnvironment(), ...settings };
  const { stdout } = await promisify(execFile)(process.execPath, [MAIN, ...args], { env, timeout: TIMEOUT_MS });
  return stdout;
}

/**
 * Adds two operators to the embedded database of a live deployment, whose service runs.
 *
 * @returns runs a command that the first operator requests and the second approves. It returns what both printed
 */
export async function twoOperators(
  settings: Readonly<Record<string, string>>,
): Promise<(...args: string[]) => Promise<readonly [string, string]>> {
  const environmentOf = async (name: string) => {
    const { url } = JSON.parse(await bankingWith(settings, 'operator', 'add', name, '--json')) as { url: string };
    return { ...settings, DATABASE_URL: url };
  };
  const [lena, omar] = [await environmentOf('lena'), await environmentOf('omar')];
  return async (...args) => {
    const requested = await bankingWith(lena, ...args).then(
      () => Promise.reject(new Error(`banking ${args.join(' ')} needed no second operator`)),
      (error: { readonly code?: number; readonly stdout: string }) =>
        error.code === REQUEST_STORED ? error.stdout : Promise.reject(error as unknown as Error),
    );
    const [, id = ''] = /^Nothing was done yet\. Stored request (\d+):/.exec(requested) ?? [];
    return [requested, await bankingWith(omar, ...args, '--approve', id)];
  };
}

/** The exit code of a command that stored a request. */
const REQUEST_STORED = 3;

/** A separate service with new demo data, which match the documented examples. */
export interface FreshService {
  readonly url: string;
  readonly dataDir: string;
  readonly document: Document;
  readonly pid: number | undefined;
  /** Its output so far, complete once it has stopped. */
  readonly log: string;
  tokenOf(email: string): Promise<string>;
  signal(signal: NodeJS.Signals): void;
  stop(): Promise<void>;
}

/**
 * @param openDataDir creates new demo data by default, because in a copy ids continue with a gap, as after each start of a database.
 */
export async function freshService(
  environment: Readonly<Record<string, string>> = {},
  openDataDir = newDataDir,
): Promise<FreshService> {
  const folder = await openDataDir();
  try {
    const service = await RunningService.start({ dataDir: folder.path, environment });
    return {
      url: service.url,
      dataDir: folder.path,
      document: await fetchDocument(service),
      pid: service.pid,
      get log() {
        return service.log;
      },
      tokenOf: (email) => localToken(folder.path, email),
      signal: (signal) => service.signal(signal),
      stop: () => service.stop().finally(folder.remove),
    };
  } catch (error) {
    await folder.remove();
    throw error;
  }
}

/** A service on a database of the spec. */
export interface OwnService extends Service {
  readonly dataDir: string;
  readonly running: RunningService;
}

/** A copy of the demo data whose database runs until it is closed, for services with different settings, in turn or at once. */
export class DemoDatabase {
  private constructor(
    private readonly folder: TestDataDir,
    readonly server: EmbeddedServer,
  ) {}

  static async open(): Promise<DemoDatabase> {
    const folder = await demoDataDir();
    try {
      return new DemoDatabase(folder, await attachEmbeddedServer({ dataDir: folder.path }));
    } catch (error) {
      await folder.remove();
      throw error;
    }
  }

  get dataDir(): string {
    return this.folder.path;
  }

  async start(environment: Readonly<Record<string, string>> = {}): Promise<OwnService> {
    const { dataDir } = this;
    const running = await RunningService.start({ dataDir, environment });
    return { url: running.url, world: demoIds(), tokenOf: (email) => localToken(dataDir, email), dataDir, running };
  }

  async close(): Promise<void> {
    await this.server.detach();
    await this.folder.remove();
  }
}

/** The ids of the demo data, which every copy of it has. */
export const demoIds = (): DemoIds => serviceOfTheRun().world;
