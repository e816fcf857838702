import { spawn, type ChildProcess } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { joinEmbeddedServer, type EmbeddedServer } from '../join-embedded-server.js';
import { isAlive, parseIdentity, type ProcessIdentity } from '../process-identity.js';
import { installationFor } from './installation.js';
import type { Said } from './joining-process.js';

/** In the built library: a child process cannot read TypeScript. */
const PROGRAM = 'dist/embedded/testing/joining-process.js';

export interface UserIds {
  readonly uid: number;
  readonly gid: number;
}

export interface Joiner {
  readonly child: ChildProcess;
  /** What it has said so far. */
  readonly said: readonly Said[];
  /** Waits for an event; rejects with all that was said when the process ends without it. */
  hears(event: Said['event'], pattern?: RegExp): Promise<Said>;
  /** Has it leave, and waits until it has ended. */
  leave(): Promise<void>;
  /** kill -9, and waits until it has ended. */
  kill(): Promise<void>;
}

/** Data folders, processes and servers of one spec, and the end of them all, come what may. */
export class World {
  private readonly folders: string[] = [];
  private readonly dataDirs = new Set<string>();
  private readonly children: ChildProcess[] = [];

  /** A new folder everyone may pass through, gone after the test. Given to `owner` when one is named. */
  folder(owner?: UserIds): string {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), 'embedded-')));
    this.folders.push(folder);
    chmodSync(folder, 0o755);
    if (owner !== undefined) chownSync(folder, owner.uid, owner.gid);
    return folder;
  }

  /** Joins in this process. */
  join(dataDir: string, log?: (line: string) => void): Promise<EmbeddedServer> {
    this.dataDirs.add(dataDir);
    return joinEmbeddedServer({ dataDir, ...(log && { log }) });
  }

  /** The built library where this user can read it. */
  installation(user: UserIds | undefined): string {
    return installationFor(user && { name: String(user.uid), ...user }, () => this.folder());
  }

  /** Joins in a process of its own. */
  process(dataDir: string, user?: UserIds): Joiner {
    this.dataDirs.add(dataDir);
    const child = spawn(process.execPath, [join(this.installation(user), PROGRAM), dataDir], {
      ...user,
      cwd: '/',
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.children.push(child);
    const said: Said[] = [];
    const ended = new Promise<void>((done) => child.once('close', () => done()));
    createInterface({ input: child.stdout }).on('line', (line) => said.push(JSON.parse(line) as Said));
    return {
      child,
      said,
      async hears(event, pattern = /^/) {
        const heard = () => said.find((one) => one.event === event && pattern.test(one.text));
        await until(() => heard() !== undefined || child.exitCode !== null || child.signalCode !== null);
        if (heard() === undefined) await ended;
        const found = heard();
        if (found === undefined) throw new Error(`never ${event} ${pattern}: ${JSON.stringify(said)}`);
        return found;
      },
      async leave() {
        child.stdin.end('leave\n');
        await this.hears('left');
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
      if (server !== undefined && isAlive(server)) {
        process.kill(server.pid, 'SIGQUIT');
        await until(() => !isAlive(server));
      }
      for (const note of ['database-folder', 'socket-folder']) {
        const path = join(dataDir, note);
        if (existsSync(path)) rmSync(readFileSync(path, 'utf8').trim(), { recursive: true, force: true });
      }
    }
    this.dataDirs.clear();
    for (const folder of this.folders.splice(0)) rmSync(folder, { recursive: true, force: true });
  }
}

/** The process last recorded as the server, dead or alive. */
export function serverOf(dataDir: string): ProcessIdentity | undefined {
  try {
    return parseIdentity(readlinkSync(join(dataDir, 'run', 'server')));
  } catch {
    return undefined;
  }
}

/** Whether a server of this folder lives. */
export function isServed(dataDir: string): boolean {
  const server = serverOf(dataDir);
  return server !== undefined && isAlive(server);
}

/** Asks one question over a connection of its own. */
export async function ask(host: string, sql: string): Promise<unknown> {
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

/** Waits for a condition; what it waits for decides the test, not how long. */
export async function until(condition: () => boolean | Promise<boolean>, waitMs = 30_000): Promise<void> {
  const since = Date.now();
  while (!(await condition())) {
    if (Date.now() - since > waitMs) throw new Error(`not within ${waitMs} ms: ${condition}`);
    await sleep(10);
  }
}
