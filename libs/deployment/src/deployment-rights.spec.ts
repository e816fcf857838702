import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  API_ROLE,
  DatabaseSetupError,
  EMBEDDED_OPERATOR_LOGIN,
  OPERATOR_ROLE,
  OWNER_ROLE,
  PROVISIONING_ROLE,
  SERVICE_ROLES,
  SQLSTATE,
  VERIFIER_ROLE,
  WORKER_ROLE,
} from '@banking/postgres';
import { sql, reasonOf } from '@banking/postgres/testing';
import { openDeployment, type DeploymentSettings } from './open-deployment.js';
import { addApp, allApps } from '@banking/operations/provisioning';
import { ownServer, type LoginName, type OwnServer } from './testing/own-server.js';

/** The roles that the processes of a live deployment take on. */
const ROLES_OF = { api: [API_ROLE], worker: [WORKER_ROLE, VERIFIER_ROLE], both: SERVICE_ROLES };

describe('a deployment on an external server, with a migrated database', () => {
  let server: OwnServer;
  let database: Awaited<ReturnType<OwnServer['makeDatabase']>>;

  beforeAll(async () => {
    server = await ownServer();
    database = await server.makeDatabase();
    await (await openDeployment(as('owner', {}))).close();
  });
  afterAll(async () => {
    await database.drop();
    await server.close();
  });

  const as = (login: LoginName, mode: Partial<DeploymentSettings>): DeploymentSettings => ({
    databaseUrl: database.urlOf(login),
    dataDir: '/nowhere',
    isSandbox: false,
    ...mode,
  });

  it.each<[keyof typeof ROLES_OF, LoginName, string]>([
    ['api', 'owner', `can act as "${OPERATOR_ROLE}"`],
    ['api', 'operator', `may not act as "${API_ROLE}"`],
    ['api', 'worker', `may not act as "${API_ROLE}"`],
    ['worker', 'owner', `can act as "${API_ROLE}"`],
    ['worker', 'operator', `may not act as "${WORKER_ROLE}"`],
    ['worker', 'app', `may not act as "${WORKER_ROLE}"`],
    ['both', 'owner', `can act as "${OPERATOR_ROLE}"`],
  ])('refuses a live service with the roles of %s and the login of %s, which %s', async (part, login, reason) => {
    const work = openDeployment(as(login, { isService: true, roles: ROLES_OF[part] }));

    await expect(work).rejects.toBeInstanceOf(DatabaseSetupError);
    expect(await reasonOf(work)).toContain(`The login "${server.logins[login]}" ${reason}`);
  });

  it('refuses a live service while its role can create temporary tables', async () => {
    const work = openDeployment(as('app', { isService: true }));

    expect(await reasonOf(work)).toContain('Let an administrator run: revoke create, temporary on database');
    await database.query('revoke temporary on database @database from public');

    await (await openDeployment(as('app', { isService: true }))).close();
    await (await openDeployment(as('worker', { isService: true, roles: ROLES_OF.worker }))).close();
  });

  it('refuses a live service whose login lacks a role that it takes on later', async () => {
    const work = openDeployment(as('app', { isService: true, roles: ROLES_OF.both }));

    expect(await reasonOf(work)).toContain(`The login "${server.logins.app}" may not act as "${WORKER_ROLE}"`);
  });

  it('refuses a live service whose login owns the database', async () => {
    await database.query(`alter database @database owner to ${server.logins.app}`);
    const work = openDeployment(as('app', { isService: true }));

    expect(await reasonOf(work)).toContain('is a superuser, owns the database, or has BYPASSRLS or CREATEROLE');
    await database.query('alter database @database owner to current_user');
  });

  it('accepts each login in a sandbox', async () => {
    const sandbox = await server.makeDatabase();
    const settings = { ...as('owner', { isService: true }), isSandbox: true };
    await (await openDeployment({ ...settings, databaseUrl: sandbox.urlOf('owner') })).close();
    await (await openDeployment({ ...settings, databaseUrl: sandbox.urlOf() })).close();
    await sandbox.drop();
  });

  it('lets an operator change the directory of a live deployment', async () => {
    const deployment = await openDeployment(as('operator', {}));
    const directory = await deployment.openProvisioning();

    await addApp(directory, 'spec', 'Harbour');

    expect(await allApps(directory)).toMatchObject([{ name: 'Harbour' }]);
    expect(await reasonOf(addApp(deployment.database, 'spec', 'Quay'))).toBe('permission denied for table app');
    await directory.end();
    await deployment.close();
  });

  it('names the missing grant if a service login changes the directory', async () => {
    const deployment = await openDeployment(as('app', { isService: true }));

    const sentence = await reasonOf(deployment.openProvisioning());

    expect(sentence).toContain(`let an administrator run: grant "banking_provisioning" to "${server.logins.app}";`);
    await deployment.close();
  });
});

// An external server has other logins.
(process.env['DATABASE_URL'] ? describe.skip : describe)('a deployment on the embedded server', () => {
  let dataDir: string;

  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'banking-rights-'));
  });
  afterEach(() => rm(dataDir, { recursive: true, force: true }));

  it('has separate logins for services and commands, and none can become the owner', async () => {
    const settings = { dataDir, isSandbox: false, poolSize: 2 };
    const service = await openDeployment({ ...settings, isService: true });
    const worker = await openDeployment({ ...settings, isService: true, roles: ROLES_OF.worker });
    const command = await openDeployment(settings);
    const directory = await command.openProvisioning();

    const who = sql('select session_user as login, current_user as role');
    expect(await service.database.read({}, who)).toEqual({ login: 'banking_login', role: API_ROLE });
    expect(await worker.database.read({}, who)).toEqual({ login: 'banking_login', role: WORKER_ROLE });
    expect(await command.database.read({}, who)).toEqual({ login: EMBEDDED_OPERATOR_LOGIN, role: OPERATOR_ROLE });
    expect(await directory.read({}, who)).toEqual({ login: EMBEDDED_OPERATOR_LOGIN, role: PROVISIONING_ROLE });
    for (const database of [service.database, directory]) {
      const escape = database.pipeline({}, [sql(`select set_config('role', '${OWNER_ROLE}', true)`)]);
      await expect(escape).rejects.toMatchObject({ code: SQLSTATE.insufficientPrivilege });
    }
    await directory.end();
    await command.close();
    await worker.close();
    await service.close();
  });
});
