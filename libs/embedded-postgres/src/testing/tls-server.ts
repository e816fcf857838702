import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { findPackage, provideBinaries, type Binaries } from '../binaries.js';
import { openDataFolder, type DataFolder } from '../data-folder.js';
import { ensureCluster } from '../make-cluster.js';
import { startServer, stopServer } from '../server.js';
import { giveTo } from '../server-user.js';
import { connectionOf } from '../session.js';
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
    private readonly binaries: Binaries,
    private readonly port: number,
  ) {}

  static async start(): Promise<TlsServer> {
    const root = realpathSync(mkdtempSync(join(tmpdir(), 'banking-tls-')));
    chmodSync(root, 0o755);
    const folder = openDataFolder(join(root, 'data'));
    const binaries = provideBinaries(findPackage(), folder.dataDir, folder.user, () => undefined);
    await ensureCluster(folder, binaries);
    writeOwned(folder, 'pg_hba.conf', ACCESS);
    writeOwned(folder, 'client-ca.crt', readFileSync(TlsServer.file('second-ca.crt'), 'utf8'));
    const port = await freePort();
    const server = new TlsServer(root, folder, binaries, port);
    const settings = { listen_addresses: LISTEN_ADDRESSES, ssl_ca_file: 'client-ca.crt' };
    await startServer(folder, binaries, settings, () => undefined, port);
    try {
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
    await stopServer(this.folder, this.binaries, () => undefined);
    rmSync(this.root, { recursive: true, force: true });
  }

  /** The first value of the first row. */
  private async administer(sql: string): Promise<unknown> {
    const client = new Client({ ...connectionOf(this.folder), port: this.port });
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
