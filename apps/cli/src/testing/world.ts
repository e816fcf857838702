import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir, userInfo } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { format } from 'node:util';
import { type EmbeddedServer, attachEmbeddedServer } from '@banking/embedded-postgres';
import { copyDataDirTemplate } from '@banking/postgres/testing';
import { runCommand } from '../program.js';

/** The built program, as `tools/run.mjs` starts it. */
const PROGRAM = resolve(__dirname, '../../dist/main.js');

/** The name of the operator of the commands: on the embedded server, the account of the operating system. */
export const OPERATOR = userInfo().username;

/** The output of a command and its exit code, which is null after a signal. */
export interface Run {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A row of the driver. */
type Row = Readonly<Record<string, unknown>>;

/** The part of the driver that the specs use. */
interface Client {
  connect(): Promise<void>;
  query(sql: string, values?: readonly unknown[]): Promise<{ readonly rows: readonly Row[] }>;
  end(): Promise<void>;
}

/** The driver belongs to libs/postgres. A spec bypasses that package to damage rows that it protects. */
const { Client } = createRequire(require.resolve('@banking/postgres/package.json'))('pg') as {
  readonly Client: new (connection: object) => Client;
};

/** One command at a time: environment and output are those of the process. */
async function runHere(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<Run> {
  const output = { stdout: '', stderr: '' };
  const captured = (name: keyof typeof output) =>
    jest.spyOn(process[name], 'write').mockImplementation(((chunk: string | Uint8Array, ...more: unknown[]) => {
      output[name] += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString();
      const written = more.at(-1);
      if (typeof written === 'function') written();
      return true;
    }) as typeof process.stdout.write);
  const spies = [
    captured('stdout'),
    captured('stderr'),
    jest.spyOn(console, 'error').mockImplementation((...values) => {
      output.stderr += `${format(...values)}\n`;
    }),
  ];
  const variables = process.env;
  process.env = environment;
  try {
    return { exitCode: await runCommand(args), ...output };
  } finally {
    process.env = variables;
    for (const spy of spies) spy.mockRestore();
  }
}

/** The DATA_DIR of one spec: runs commands on it, and removes it. */
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
  async open(options: { readonly isReplicated?: boolean } = {}): Promise<void> {
    this.server = await attachEmbeddedServer({ dataDir: this.dataDir, ...options });
  }

  /** A DATA_DIR with the demo data. */
  async openDemo(): Promise<void> {
    await this.fill();
    await this.open();
  }

  /** Copies the demo data into it, which the first command would otherwise make. */
  fill(): Promise<void> {
    return copyDataDirTemplate(this.dataDir);
  }

  /** Runs a command to its end in this process, with DATA_DIR and `environment` as its only variables. */
  run(args: readonly string[], environment: Readonly<Record<string, string>> = {}): Promise<Run> {
    return runHere(args, { DATA_DIR: this.dataDir, ...environment });
  }

  /** Runs a command in a separate process. */
  runProcess(args: readonly string[], environment: Readonly<Record<string, string>> = {}): Promise<Run> {
    return ended(this.start(args, environment));
  }

  /** @param output a file descriptor for standard output. Default: a pipe */
  start(
    args: readonly string[],
    environment: Readonly<Record<string, string>> = {},
    output: number | 'pipe' = 'pipe',
  ): ChildProcess {
    const env = { DATA_DIR: this.dataDir, ...environment };
    return spawn(process.execPath, [PROGRAM, ...args], { env, stdio: ['ignore', output, 'pipe'] });
  }

  /** Runs a command that must succeed, and reads what it printed as JSON. */
  async json<T>(...args: readonly string[]): Promise<T> {
    const { exitCode, stdout, stderr } = await this.run([...args, '--json']);
    if (exitCode !== 0) throw new Error(`banking ${args.join(' ')} ended with ${exitCode}: ${stderr}`);
    return JSON.parse(stdout) as T;
  }

  /** Runs SQL as the superuser, without triggers and foreign keys. */
  async query(sql: string, ...values: readonly unknown[]): Promise<readonly Row[]> {
    if (!this.superuser) {
      if (!this.server) throw new Error('call open() first');
      this.superuser = new Client(this.server.connection);
      await this.superuser.connect();
      await this.superuser.query('set search_path = banking; set session_replication_role = replica');
    }
    return (await this.superuser.query(sql, values)).rows;
  }

  /** The number of processes that use the database server, including this one. */
  async holders(): Promise<number> {
    return (await this.query(`select from pg_stat_activity where application_name = 'embedded server'`)).length;
  }

  file(name: string): string {
    return readFileSync(join(this.dataDir, name), 'utf8');
  }

  /** Ends what `open` has begun. */
  async leave(): Promise<void> {
    await this.superuser?.end();
    await this.server?.detach();
    [this.superuser, this.server] = [undefined, undefined];
  }

  async close(): Promise<void> {
    await this.leave();
    rmSync(this.dataDir, { recursive: true, force: true });
  }
}

export async function ended(child: ChildProcess): Promise<Run> {
  const closed = new Promise<number | null>((done) => child.once('close', done));
  const [stdout, stderr, exitCode] = await Promise.all([text(child.stdout!), text(child.stderr!), closed]);
  return { exitCode, stdout, stderr };
}
