import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { findPackage, provideBinaries, SERVER_ENV } from '../binaries.js';
import { openDataFolder, openRunFolder, openSocketFolder, type DataFolder } from '../data-folder.js';
import { ensureCluster } from '../make-cluster.js';
import { readServerStatus, connectionOf, type Connection } from '../running-server.js';
import { asUser, giveTo } from '../server-user.js';
import { until } from './until.js';

/**
 * Valid until 2120, except for `expired.crt`. Only specs trust them, and the keys of their authorities were deleted. `ca.crt` signed
 * `localhost.crt` and `other-name.crt` (db.example), `second-ca.crt` signed `expired.crt` and `client.crt`, `other-ca.crt` nothing.
 */
const CERTIFICATES = join(__dirname, 'tls-test-certificates');

/** The login that can connect over TCP. */
const PASSWORD = 'only-in-tests';

/** The second address is in no certificate. Linux has it without a configuration. */
const LISTEN_ADDRESSES = process.platform === 'linux' ? '127.0.0.1,127.0.0.2' : '127.0.0.1';

const ACCESS = `local all all peer map=banking
hostssl all with_certificate 127.0.0.0/8 cert
host all all 127.0.0.0/8 scram-sha-256
`;

/** A PostgreSQL server that listens on 127.0.0.1, for specs of TLS. */
export class TlsServer {
  /** The login that needs the client certificate instead of a password. */
  static readonly CERTIFICATE_LOGIN = 'with_certificate';

  private constructor(
    private readonly root: string,
    private readonly folder: DataFolder,
    private readonly socket: Connection,
    private readonly child: ChildProcess,
    private readonly port: number,
  ) {}

  static async start(): Promise<TlsServer> {
    const root = realpathSync(mkdtempSync(join(tmpdir(), 'banking-tls-')));
    chmodSync(root, 0o755);
    const { dataDir, run } = openRunFolder(join(root, 'data'));
    const folder = openDataFolder(dataDir, run);
    const binaries = provideBinaries(findPackage(), dataDir, folder.user, () => undefined);
    await ensureCluster(folder, binaries);
    writeOwned(folder, 'pg_hba.conf', ACCESS);
    writeOwned(folder, 'client-ca.crt', readFileSync(TlsServer.file('second-ca.crt'), 'utf8'));
    const socket = connectionOf(openSocketFolder(folder));
    const port = await freePort();
    const settings = {
      listen_addresses: LISTEN_ADDRESSES,
      unix_socket_directories: socket.host,
      ssl_ca_file: 'client-ca.crt',
    };
    const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const options = { ...asUser(folder.user), cwd: folder.database, env: SERVER_ENV, stdio: 'ignore' } as const;
    const child = spawn(binaries.postgres, ['-D', folder.database, '-p', String(port), ...args], options);
    const server = new TlsServer(root, folder, { ...socket, port }, child, port);
    try {
      await server.ready();
      await server.administer(`alter role postgres password '${PASSWORD}'`);
      await server.administer(`create role ${TlsServer.CERTIFICATE_LOGIN} login superuser`);
      return server;
    } catch (error) {
      await server.stop();
      throw error;
    }
  }

  /** The path of a certificate or key for the parameters of a URL. */
  static file(name: 'ca.crt' | 'other-ca.crt' | 'second-ca.crt' | 'client.crt' | 'client.key'): string {
    return join(CERTIFICATES, name);
  }

  /** @param hosts separated by commas */
  url(hosts: string, query: string, login = `postgres:${PASSWORD}`): string {
    const withPorts = hosts.split(',').map((host) => `${host}:${this.port}`);
    return `postgres://${login}@${withPorts.join(',')}/postgres?${query}`;
  }

  /** Makes the server use this certificate, or no TLS. */
  async show(certificate: 'localhost.crt' | 'other-name.crt' | 'expired.crt' | undefined): Promise<void> {
    if (certificate !== undefined) {
      writeOwned(this.folder, 'server.key', readFileSync(join(CERTIFICATES, 'server.key'), 'utf8'));
      writeOwned(this.folder, 'server.crt', readFileSync(join(CERTIFICATES, certificate), 'utf8'));
    }
    const wanted = certificate === undefined ? 'off' : 'on';
    await this.administer(`alter system set ssl = ${wanted}`);
    await this.administer('select pg_reload_conf()');
    await until(
      () => this.administer('show ssl'),
      (ssl) => ssl === wanted,
    );
  }

  /** The numbers of TCP connections with and without TLS. */
  async connections(): Promise<{ readonly tls: number; readonly plain: number }> {
    return this.administer(
      `select json_build_object('tls', count(*) filter (where ssl), 'plain', count(*) filter (where not ssl))
       from pg_stat_activity join pg_stat_ssl using (pid) where client_addr is not null`,
    ) as Promise<{ tls: number; plain: number }>;
  }

  /** Ends the TCP connections, so that clients connect again. */
  async disconnect(): Promise<void> {
    await this.administer('select pg_terminate_backend(pid, 5000) from pg_stat_activity where client_addr is not null');
  }

  /** Changes the password of the login, and ends its connections over TCP. */
  async changePassword(password: string): Promise<void> {
    await this.administer(`alter role postgres password '${password}'`);
    await this.disconnect();
  }

  async stop(): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) {
      this.child.kill('SIGQUIT');
      await once(this.child, 'exit');
    }
    rmSync(this.root, { recursive: true, force: true });
  }

  private async ready(): Promise<void> {
    const status = await until(
      () => readServerStatus(this.socket),
      (found) => found === 'ready' || this.child.exitCode !== null,
    );
    if (status !== 'ready') throw new Error(`postgres ended with ${this.child.exitCode}`);
  }

  /** The first value of the first row. */
  private async administer(sql: string): Promise<unknown> {
    const client = new Client(this.socket);
    await client.connect();
    try {
      const { rows } = await client.query<Record<string, unknown>>(sql);
      return Object.values(rows[0] ?? {})[0];
    } finally {
      await client.end();
    }
  }
}

function writeOwned({ database, user }: DataFolder, name: string, text: string): void {
  const path = join(database, name);
  rmSync(path, { force: true });
  writeFileSync(path, text, { mode: 0o600 });
  giveTo(user, path);
}

/** PostgreSQL cannot choose a free port itself. */
async function freePort(): Promise<number> {
  const probe = createServer();
  await once(probe.listen(0, '127.0.0.1'), 'listening');
  const { port } = probe.address() as AddressInfo;
  await once(probe.close(), 'close');
  return port;
}
