import { attachEmbeddedServer } from '@banking/embedded-postgres';
import { bind, Database, OWNER_ROLE, sqlStatement } from '@banking/postgres';
import { until } from '@banking/postgres/testing';
import { sendRequest } from '../responses.js';
import { demoDataDir, RunningService, type TestDataDir } from '../running-service.js';
import { ADA, EVE, localToken, type Service } from '../service.js';
import { idOf, readDemoIds } from '../world.js';

const LOCK = sqlStatement('lock_transfers', 'lock table banking.transfer in access exclusive mode');
/** The sessions that wait for the lock. */
const WAITING = sqlStatement<{ count: number }>(
  'waiting',
  `select count(distinct pid)::int as count from pg_locks where not granted and relation = 'banking.transfer'::regclass`,
);

describe('a service whose database connections a workspace could use up', () => {
  let folder: TestDataDir;
  let running: RunningService;
  let service: Service;
  let server: Awaited<ReturnType<typeof attachEmbeddedServer>>;
  let owner: Database;

  beforeAll(async () => {
    folder = await demoDataDir();
    // No worker: its sessions would wait for the lock as well.
    running = await RunningService.start({ dataDir: folder.path, environment: { WORKER: 'off' } });
    service = {
      url: running.url,
      world: await readDemoIds(folder.path),
      tokenOf: (email) => localToken(folder.path, email),
    };
    server = await attachEmbeddedServer({ dataDir: folder.path });
    owner = await Database.open({ connection: server.connection, role: OWNER_ROLE });
  });

  afterAll(async () => {
    await owner?.end();
    await server?.detach();
    await running?.stop();
    await folder?.remove();
  });

  const workspaceOf = (name: string) => idOf(service.world, 'workspaces', name);

  it('reads one large page of the workspace at a time, and serves other workspaces meanwhile', async () => {
    const large = () =>
      sendRequest(service, '/transfers?limit=500', { as: ADA, workspace: workspaceOf('Northwind Trading') });
    const small = () => sendRequest(service, '/accounts', { as: EVE, workspace: workspaceOf('Southwind Imports') });
    await Promise.all([large(), small()]);

    const pages = await owner.transaction({}, async (tx) => {
      await tx.pipeline([bind(LOCK)]);
      const sent = Array.from({ length: 30 }, large);
      const waiting = async () => {
        const [[row]] = await tx.pipeline([bind(WAITING)]);
        return row?.count ?? 0;
      };
      await until(waiting);

      const others = await Promise.all(Array.from({ length: 30 }, small));

      expect(new Set(others.map(({ status }) => status))).toEqual(new Set([200]));
      expect(await waiting()).toBeLessThanOrEqual(1);
      return sent;
    });

    await Promise.all(pages);
    expect((await large()).status).toBe(200);
  });
});
