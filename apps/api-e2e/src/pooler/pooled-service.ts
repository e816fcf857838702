import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { attachEmbeddedServer, type EmbeddedServer } from '@banking/embedded-postgres';
import { administer } from '@banking/postgres/testing';
import { demoDataDir, RunningService, type TestDataDir } from '../running-service.js';
import { localToken, type Service } from '../service.js';
import { type DemoIds, readDemoIds } from '../world.js';
import { PgBouncer, type PgBouncerOptions } from './pgbouncer.js';

const LOGIN = 'behind_pooler';
/** The file that docs/postgresql.md tells an administrator to run. */
const LOGIN_FILE = join(dirname(require.resolve('@banking/postgres/package.json')), 'login-behind-pooler.sql');

/** A service that reaches its database through PgBouncer only. */
export class PooledService implements Service {
  private constructor(
    private readonly folder: TestDataDir,
    private readonly server: EmbeddedServer,
    readonly pooler: PgBouncer,
    readonly running: RunningService,
    readonly world: DemoIds,
    /** The variables of the service, for the command line. */
    readonly environment: Readonly<Record<string, string>>,
  ) {}

  static async start(options: Pick<PgBouncerOptions, 'mode' | 'poolSize'>): Promise<PooledService> {
    const folder = await demoDataDir();
    const world = await readDemoIds(folder.path);
    const server = await attachEmbeddedServer({ dataDir: folder.path });
    let pooler: PgBouncer | undefined;
    try {
      await administer(server.connection, async (client) => {
        await client.query(`create role ${LOGIN} login noinherit; grant banking_app to ${LOGIN}`);
        if (options.mode === 'transaction') {
          await client.query(readFileSync(LOGIN_FILE, 'utf8').replaceAll(':"login"', LOGIN));
        }
      });
      pooler = await PgBouncer.start({ ...options, login: LOGIN, serverSocket: server.connection.host });
      const environment = {
        DATABASE_URL: pooler.url(server.connection.database),
        DATABASE_POOLER: options.mode === 'transaction' ? 'transaction' : 'none',
        SANDBOX: 'on',
      };
      const running = await RunningService.start({
        dataDir: folder.path,
        environment: { ...environment, WORKER: 'on' },
      });
      return new PooledService(folder, server, pooler, running, world, { ...environment, DATA_DIR: folder.path });
    } catch (error) {
      await pooler?.stop();
      await server.detach();
      await folder.remove();
      throw error;
    }
  }

  get url(): string {
    return this.running.url;
  }

  tokenOf(email: string): Promise<string> {
    return localToken(this.folder.path, email);
  }

  /** The connections of the login at the server. */
  async serverConnections(): Promise<number> {
    return administer(this.server.connection, async (client) => {
      const { rows } = await client.query<{ count: number }>(
        `select count(*)::int as count from pg_stat_activity where usename = '${LOGIN}'`,
      );
      return rows[0]?.count ?? 0;
    });
  }

  async stop(): Promise<void> {
    try {
      await this.running.stop();
    } finally {
      await this.pooler.stop();
      await this.server.detach();
      await this.folder.remove();
    }
  }
}
