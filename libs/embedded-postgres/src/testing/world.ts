import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { chmodSync, chownSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Client } from 'pg';
import { attachEmbeddedServer, type EmbeddedServer } from '../attach-embedded-server.js';
import { isRunning, serverPid } from '../server.js';
import { installationFor } from './installation.js';
import { until } from './until.js';
import type { ProcessEvent } from './attaching-process.js';

/** In the built library: a child process cannot read TypeScript. */
const PROGRAM = 'dist/testing/attaching-process.js';

export interface UserIds {
  readonly uid: number;
  readonly gid: number;
}

export interface ChildOfSpec {
  readonly child: ChildProcess;
  /** Waits for an event; rejects with all events when the process ends without it. */
  waitFor(event: ProcessEvent['event'], pattern?: RegExp): Promise<ProcessEvent>;
  /** Makes it detach, and waits until it has ended. */
  detach(): Promise<void>;
  /** Sends SIGKILL, and waits until it has ended. */
  kill(): Promise<void>;
}

/** The data folders, processes and servers of one spec; `end` ends and removes them all. */
export class World {
  private readonly folders: string[] = [];
  private readonly dataDirs = new Set<string>();
  private readonly children: ChildProcess[] = [];
  private template: Promise<string> | undefined;

  /** A new folder that every user may pass through, removed after the test. It belongs to `owner`, if given. */
  folder(owner?: UserIds): string {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), 'embedded-')));
    this.folders.push(folder);
    chmodSync(folder, 0o755);
    if (owner !== undefined) chownSync(folder, owner.uid, owner.gid);
    return folder;
  }

  /** A new DATA_DIR with a database whose server is stopped: a copy, because initdb takes longer than most tests. */
  async stoppedDataDir(): Promise<string> {
    const dataDir = join(this.folder(), 'data');
    this.template ??= makeTemplate();
    execFileSync('cp', ['-a', await this.template, dataDir]);
    return dataDir;
  }

  /** Removes the template of all tests. */
  async removeTemplate(): Promise<void> {
    if (this.template !== undefined) rmSync(await this.template, { recursive: true, force: true });
  }

  /** Attaches this process. */
  attach(dataDir: string, log?: (line: string) => void): Promise<EmbeddedServer> {
    this.dataDirs.add(dataDir);
    return attachEmbeddedServer({ dataDir, ...(log && { log }) });
  }

  /** The built library where this user can read it. */
  installation(user: UserIds | undefined): string {
    return installationFor(user && { name: String(user.uid), ...user }, () => this.folder());
  }

  /** Attaches a new process, in a process group of its own, as a shell starts it. */
  process(dataDir: string, user?: UserIds): ChildOfSpec {
    this.dataDirs.add(dataDir);
    const child = spawn(process.execPath, [join(this.installation(user), PROGRAM), dataDir], {
      ...user,
      cwd: '/',
      detached: true,
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.children.push(child);
    const events: ProcessEvent[] = [];
    const ended = new Promise<void>((done) => child.once('close', () => done()));
    createInterface({ input: child.stdout }).on('line', (line) => events.push(JSON.parse(line) as ProcessEvent));
    return {
      child,
      async waitFor(event, pattern = /^/) {
        const find = () => events.find((one) => one.event === event && pattern.test(one.text));
        await until(() => find() !== undefined || child.exitCode !== null || child.signalCode !== null);
        if (find() === undefined) await ended;
        const received = find();
        if (received === undefined) throw new Error(`no ${event} ${pattern}: ${JSON.stringify(events)}`);
        return received;
      },
      async detach() {
        child.stdin.end('detach\n');
        await this.waitFor('detached');
        await ended;
      },
      async kill() {
        child.kill('SIGKILL');
        await ended;
      },
    };
  }

  /** Ends every process and server of the test and removes its folders. */
  async end(): Promise<void> {
    for (const child of this.children.splice(0)) {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill('SIGKILL');
        await new Promise((done) => child.once('exit', done));
      }
    }
    for (const dataDir of this.dataDirs) {
      const server = serverOf(dataDir);
      if (server === undefined || !isServed(dataDir)) continue;
      process.kill(server, 'SIGQUIT');
      await until(() => !isServed(dataDir));
    }
    this.dataDirs.clear();
    for (const folder of this.folders.splice(0)) rmSync(folder, { recursive: true, force: true });
  }
}

async function makeTemplate(): Promise<string> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'embedded-template-')));
  chmodSync(folder, 0o711);
  await (await attachEmbeddedServer({ dataDir: folder })).detach();
  return folder;
}

/** The process in postmaster.pid, dead or alive. */
export const serverOf = (dataDir: string): number | undefined => serverPid({ database: join(dataDir, 'database') });

/** Whether a server of this folder runs. */
export const isServed = (dataDir: string): boolean => isRunning({ database: join(dataDir, 'database') });

/** Runs one query over a connection of its own. */
export async function queryValue(host: string, sql: string): Promise<unknown> {
  const client = new Client({ host, port: 5432, user: 'postgres', database: 'postgres', ssl: false });
  client.on('error', () => undefined);
  await client.connect();
  try {
    const { rows } = await client.query<Record<string, unknown>>(sql);
    return Object.values(rows[0] ?? {})[0];
  } finally {
    await client.end();
  }
}
