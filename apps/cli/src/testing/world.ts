import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { type EmbeddedServer, joinEmbeddedServer } from '@banking/postgres';

/** The built program, as `tools/run.mjs` starts it. */
const PROGRAM = resolve(__dirname, '../../dist/main.js');

/** What a command said and how it ended; without an exit code when a signal ended it. */
export interface Run {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A row, as the driver reads it. */
type Row = Readonly<Record<string, unknown>>;

/** What the specs need of the driver. */
interface Client {
  connect(): Promise<void>;
  query(sql: string, values?: readonly unknown[]): Promise<{ readonly rows: readonly Row[] }>;
  end(): Promise<void>;
}

/** The driver belongs to libs/postgres; only a spec may go around that room, to break what it guards. */
const { Client } = createRequire(require.resolve('@banking/postgres/package.json'))('pg') as {
  readonly Client: new (connection: object) => Client;
};

/** A DATA_DIR of one spec, the commands run on it, and the end of it all. */
export class World {
  readonly dataDir: string;
  private server: EmbeddedServer | undefined;
  private superuser: Client | undefined;

  constructor() {
    this.dataDir = realpathSync(mkdtempSync(join(tmpdir(), 'banking-cli-')));
    // The database server runs as another user when we are root.
    chmodSync(this.dataDir, 0o755);
  }

  /** Holds the database open, as a running service does. Without it every command starts a server and stops it. */
  async open(): Promise<void> {
    this.server = await joinEmbeddedServer({ dataDir: this.dataDir });
  }

  /** Runs a command to its end in an environment of DATA_DIR and nothing else but what is given. */
  run(args: readonly string[], environment: Readonly<Record<string, string>> = {}): Promise<Run> {
    return ended(this.start(args, environment));
  }

  start(args: readonly string[], environment: Readonly<Record<string, string>> = {}): ChildProcess {
    const env = { DATA_DIR: this.dataDir, ...environment };
    return spawn(process.execPath, [PROGRAM, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  }

  /** Runs a command that must succeed, and reads what it printed as JSON. */
  async json<T>(...args: readonly string[]): Promise<T> {
    const { exitCode, stdout, stderr } = await this.run([...args, '--json']);
    if (exitCode !== 0) throw new Error(`banking ${args.join(' ')} ended with ${exitCode}: ${stderr}`);
    return JSON.parse(stdout) as T;
  }

  /** Asks the database as its superuser, for whom no trigger fires and no key is checked. */
  async query(sql: string, ...values: readonly unknown[]): Promise<readonly Row[]> {
    if (!this.superuser) {
      if (!this.server) throw new Error('open the world first');
      this.superuser = new Client(this.server.connection);
      await this.superuser.connect();
      await this.superuser.query('set search_path = banking; set session_replication_role = replica');
    }
    return (await this.superuser.query(sql, values)).rows;
  }

  /** How many processes use the database server at the moment, this one included. */
  holders(): number {
    return readdirSync(join(this.dataDir, 'run')).filter((name) => name.startsWith('holder-')).length;
  }

  file(name: string): string {
    return readFileSync(join(this.dataDir, name), 'utf8');
  }

  async close(): Promise<void> {
    await this.superuser?.end();
    await this.server?.leave();
    rmSync(this.dataDir, { recursive: true, force: true });
  }
}

export async function ended(child: ChildProcess): Promise<Run> {
  const closed = new Promise<number | null>((done) => child.once('close', done));
  const [stdout, stderr, exitCode] = await Promise.all([text(child.stdout!), text(child.stderr!), closed]);
  return { exitCode, stdout, stderr };
}
