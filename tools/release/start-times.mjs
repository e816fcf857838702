import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { command } from './command.mjs';
import { cleanEnvironment, startService } from './processes.mjs';

/**
 * Unpacks both archives and measures in new processes how long the service takes until it is ready: with the embedded database, and
 * with a database that `DATABASE_URL` names. Each is started twice, because the first start fills the database.
 *
 * @returns the milliseconds by a description of the start
 */
export async function measureStarts({ withDatabase, withoutDatabase }) {
  const folder = mkdtempSync(join(tmpdir(), 'banking-start-'));
  chmodSync(folder, 0o755); // PostgreSQL does not run as root: its user must enter the folder
  const times = {};
  const stops = [];
  try {
    const [embedded, plain] = await Promise.all([
      unpack(withDatabase, join(folder, 'embedded')),
      unpack(withoutDatabase, join(folder, 'plain')),
    ]);
    const dataDir = join(folder, 'data');
    const start = async (what, root, settings) => {
      const env = cleanEnvironment({ PORT: '0', ...settings });
      const service = await startService(process.execPath, ['apps/api/dist/main.js'], { cwd: root, env });
      times[what] = service.startMs;
      stops.push(service.stop);
      return service;
    };
    const stopLast = async () => {
      const { exitCode, output } = await stops.pop()();
      if (exitCode !== 0) throw new Error(`The service ended with ${exitCode} after SIGTERM:\n${output}`);
    };
    await start('embedded database, first start', embedded, { DATA_DIR: dataDir });
    await stopLast();
    await start('embedded database, next start', embedded, { DATA_DIR: dataDir });

    const url = await createDatabase(embedded, join(dataDir, 'socket'));
    const given = { DATABASE_URL: url, SANDBOX: 'on', DATA_DIR: join(folder, 'key') };
    await start('given database, first start', plain, given);
    await stopLast();
    await start('given database, next start', plain, given);
    return times;
  } finally {
    while (stops.length > 0) await stops.pop()();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Unpacks an archive without the folder that contains all its files. */
export async function unpack(archive, folder) {
  mkdirSync(folder, { recursive: true });
  await command('tar', ['-xzf', archive, '--strip-components=1', '-C', folder]);
  return folder;
}

/** Creates an empty database on the embedded server, which listens on a socket. */
async function createDatabase(root, socket) {
  const { Client } = createRequire(join(root, 'libs/postgres/package.json'))('pg');
  const client = new Client({ host: socket, user: 'postgres', database: 'postgres' });
  await client.connect();
  try {
    await client.query('create database given');
  } finally {
    await client.end();
  }
  return `postgres://postgres@localhost/given?host=${encodeURIComponent(socket)}`;
}
