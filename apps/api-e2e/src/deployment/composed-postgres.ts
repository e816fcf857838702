import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, copyFileSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bareEnvironment } from '../config.js';
import { Child, type OsUser } from './child.js';
import { read, ROOT } from './deploy-files.js';

const DEBIAN_FOLDER = '/usr/lib/postgresql';

/** The folder of the newest PostgreSQL of Debian's packages, if there is one. */
export function postgresPrograms(): string | undefined {
  const versions = existsSync(DEBIAN_FOLDER) ? readdirSync(DEBIAN_FOLDER).map(Number).filter(Boolean) : [];
  const folders = versions.sort((a, b) => b - a).map((version) => join(DEBIAN_FOLDER, String(version), 'bin'));
  return folders.find((folder) => ['initdb', 'postgres', 'psql'].every((name) => existsSync(join(folder, name))));
}

interface Settings {
  readonly folder: string;
  readonly secrets: string;
  readonly port: number;
  /** The command of the service in deploy/compose.yaml. */
  readonly command: readonly string[];
}

/** The database of the composition: the settings, the access file and the logins of its service, without a container. */
export class ComposedPostgres {
  private constructor(
    private readonly server: Child,
    private readonly admin: readonly string[],
    private readonly programs: string,
    /** The user of the server and its programs, if this is root. */
    readonly user: OsUser | undefined,
  ) {}

  static async start({ folder, secrets, port, command }: Settings): Promise<ComposedPostgres> {
    const programs = postgresPrograms();
    if (programs === undefined) throw new Error('there is no PostgreSQL: install the Debian package postgresql');
    const user = process.getuid?.() === 0 ? userNamed('postgres') : undefined;
    mkdirSync(folder);
    const key = join(folder, 'server.key');
    copyFileSync(join(secrets, 'postgres-key'), key);
    chmodSync(key, 0o600);
    if (user !== undefined) for (const path of [folder, key]) chownSync(path, user.uid, user.gid);
    const data = join(folder, 'data');
    const env = bareEnvironment();
    const initdb = ['-D', data, '-U', 'postgres', '--auth=peer', '-E', 'UTF8', '--locale=C.UTF-8', '-k', '-N'];
    execFileSync(join(programs, 'initdb'), initdb, { env, cwd: folder, stdio: 'ignore', ...user });
    const args = command
      .slice(1)
      .map((part) =>
        part
          .replace('/etc/banking/pg_hba.conf', join(ROOT, 'deploy/compose/pg_hba.conf'))
          .replace('/var/run/postgresql/server.key', key)
          .replace('/run/secrets', secrets),
      );
    const here = ['-D', data, '-k', folder, '-p', String(port), '-c', 'listen_addresses=127.0.0.1'];
    const server = new Child('postgres', {
      command: join(programs, 'postgres'),
      args: [...here, ...args],
      env,
      ...user,
    });
    const admin = ['-X', '-q', '-h', folder, '-p', String(port), '-U', 'postgres', '-d', 'postgres'];
    const postgres = new ComposedPostgres(server, admin, programs, user);
    try {
      await server.matched(/database system is ready to accept connections/);
      const files = {
        logins: 'deploy/postgres/logins.sql',
        'login-behind-pooler': 'libs/postgres/login-behind-pooler.sql',
      };
      const script = Object.entries(files).reduce(
        (text, [name, file]) => text.replace(`/etc/banking/${name}.sql`, join(ROOT, file)),
        read('deploy/compose/init.sql'),
      );
      const scriptFile = join(secrets, '..', 'init.sql');
      writeFileSync(scriptFile, script);
      postgres.psql('-v', `secrets=${secrets}`, '-v', 'ON_ERROR_STOP=1', '-f', scriptFile);
      return postgres;
    } catch (error) {
      await postgres.stop();
      throw error;
    }
  }

  /** What the server wrote to its log. */
  get log(): string {
    return this.server.output.text;
  }

  /** Runs psql as the administrator, over the socket. */
  psql(...args: readonly string[]): string {
    const options = { env: bareEnvironment(), encoding: 'utf8', ...this.user } as const;
    return execFileSync(join(this.programs, 'psql'), [...this.admin, ...args], options);
  }

  async stop(): Promise<void> {
    await this.server.stop('SIGINT');
  }
}

function userNamed(name: string): OsUser {
  const idOf = (option: string) => Number(execFileSync('id', [option, name], { encoding: 'utf8' }));
  return { uid: idOf('-u'), gid: idOf('-g') };
}
