import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { APP_ROLE, BASELINE, migrate, OWNER_ROLE, PROVISIONING_ROLE, SCHEMA } from '@banking/postgres';
import { DatabaseServer } from '../database-server.js';
import { fillTables } from './large-tables.js';
import { LockProbe, type Wait } from './lock-probe.js';
import { addMigrations, copyMigrations, migrationsOf } from './migration-folders.js';

export interface LockOptions {
  /** Empty, and open to the user of the database server. */
  readonly folder: string;
  /** The top of the workspace whose migrations are measured. */
  readonly root: string;
  readonly transfers: number;
  /** Files of further migrations, which are applied last. */
  readonly more: readonly string[];
  readonly limitMs: number;
  readonly onProgress: (line: string) => void;
}

/** What one migration cost. */
export interface MigrationLocks {
  readonly name: string;
  readonly tookMs: number;
  readonly longest: Wait;
}

/** Applies each migration after the baseline to large tables, and measures meanwhile how long requests wait for locks. */
export async function measureLocks(options: LockOptions): Promise<readonly MigrationLocks[]> {
  const { folder, root, transfers, more, limitMs, onProgress } = options;
  const migrations = join(folder, 'migrations');
  const dataDir = join(folder, 'data');
  await mkdir(migrations);
  await mkdir(dataDir);
  const own = migrationsOf(root);
  await copyMigrations(
    own.filter(({ number }) => number <= BASELINE),
    migrations,
  );
  const server = await DatabaseServer.start(dataDir, () => undefined);
  const apply = () =>
    migrate({
      connection: server.connection,
      folders: [migrations],
      ...{ schema: SCHEMA, ownerRole: OWNER_ROLE, appRole: APP_ROLE, provisioningRole: PROVISIONING_ROLE },
      parameters: { 'banking.sandbox': 'on' },
    });
  try {
    await apply();
    onProgress(`filling the tables with ${transfers} transfers`);
    const client = await server.connect();
    await fillTables(client, transfers).finally(() => client.end());
    const measured: MigrationLocks[] = [];
    const measure = async (name: string) => {
      const probe = await LockProbe.start(() => server.connect(), limitMs);
      const beganAt = performance.now();
      try {
        await apply();
      } finally {
        const longest = await probe.stop();
        measured.push({ name, tookMs: performance.now() - beganAt, longest });
      }
    };
    for (const file of own.filter(({ number }) => number > BASELINE)) {
      onProgress(`applying ${file.name}`);
      await copyMigrations([file], migrations);
      await measure(file.name);
    }
    for (const [index, path] of more.entries()) {
      const [file] = await addMigrations(migrations, Math.max(BASELINE, own.at(-1)?.number ?? 0) + index, [path]);
      onProgress(`applying ${file?.name}`);
      await measure(file?.name ?? path);
    }
    return measured;
  } finally {
    await server.stop();
  }
}
