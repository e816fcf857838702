import { existsSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { bareEnvironment } from '../config.js';
import { Child, type OsUser } from './child.js';
import { read } from './deploy-files.js';

/** The program, or undefined if it is not installed. Debian puts it where only root searches. */
export function pgBouncerPath(): string | undefined {
  const folders = [...(bareEnvironment()['PATH'] ?? '').split(delimiter), '/usr/sbin'];
  return folders.map((folder) => join(folder, 'pgbouncer')).find((path) => existsSync(path));
}

interface Settings {
  readonly folder: string;
  readonly secrets: string;
  readonly port: number;
  readonly postgresPort: number;
  readonly user: OsUser | undefined;
}

/** PgBouncer with the settings of the composition, and the addresses of this machine. */
export async function startPgBouncer({ folder, secrets, port, postgresPort, user }: Settings): Promise<Child> {
  const command = pgBouncerPath();
  if (command === undefined) throw new Error('there is no PgBouncer: install the Debian package pgbouncer');
  const config = join(folder, 'pgbouncer.ini');
  const settings = read('deploy/compose/pgbouncer.ini')
    .replaceAll('/run/secrets', secrets)
    .replace('host=postgres port=5432', `host=localhost port=${postgresPort}`)
    .replace('listen_addr = 0.0.0.0', 'listen_addr = 127.0.0.1')
    .replace('listen_port = 6432', `listen_port = ${port}`);
  writeFileSync(config, settings);
  const child = new Child('pgbouncer', { command, args: [config], env: bareEnvironment(), ...user });
  await child.matched(/process up: PgBouncer/);
  return child;
}
