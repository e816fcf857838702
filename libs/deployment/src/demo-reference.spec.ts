import { administer, reasonOf, sql } from '@banking/postgres/testing';
import { openDeployment, type DeploymentSettings } from './open-deployment.js';
import { ownServer, type OwnServer } from './testing/own-server.js';

const DEMO_CORRIDORS =
  /^The reference data has [1-9]\d* corridors and [1-9]\d* SWIFT minimums that are marked as demo.+ set DEMO_REFERENCE=on/;

describe('the reference data of a live database', () => {
  let server: OwnServer;
  let database: Awaited<ReturnType<OwnServer['makeDatabase']>>;

  beforeAll(async () => {
    server = await ownServer();
  });
  afterAll(() => server.close());
  beforeEach(async () => {
    database = await server.makeDatabase();
    await database.query('revoke temporary on database @database from public');
  });
  afterEach(() => database.drop());

  /** A service cannot migrate. */
  const migrated = async (mode: Partial<DeploymentSettings> = {}) =>
    (await openDeployment({ ...service(), ...mode, databaseUrl: database.urlOf('owner'), isService: false })).close();
  const service = (): DeploymentSettings => ({
    databaseUrl: database.urlOf('app'),
    dataDir: '/nowhere',
    isSandbox: false,
    isService: true,
  });
  const corridorsOf = async (settings: DeploymentSettings) => {
    const deployment = await openDeployment(settings);
    const row = await deployment.database.read({}, sql('select count(*)::int as corridors from corridor'));
    await deployment.close();
    return row;
  };

  it('has no corridors of the demo by default', async () => {
    await migrated();

    expect(await corridorsOf(service())).toEqual({ corridors: 0 });
  });

  it('has them with the setting, and a service or worker without it refuses to serve them', async () => {
    await migrated({ hasDemoReference: true });

    expect(await corridorsOf({ ...service(), hasDemoReference: true })).toEqual({ corridors: expect.any(Number) });
    for (const prepare of [true, false]) {
      expect(await reasonOf(openDeployment({ ...service(), prepare }))).toMatch(DEMO_CORRIDORS);
    }
  });

  it('is read by commands in each case', async () => {
    await migrated({ hasDemoReference: true });

    expect(await corridorsOf({ ...service(), databaseUrl: database.urlOf('operator'), isService: false })).not.toEqual({
      corridors: 0,
    });
  });

  it('is served as soon as the deployment has its own terms', async () => {
    await migrated({ hasDemoReference: true });
    await administer({ connectionString: database.urlOf() }, (client) =>
      client.query(`delete from banking.corridor where id > 1;
       update banking.corridor set is_demo = false, delivery_tat = 'T+3', minimum_amount = 1, maximum_amount = 2;
       update banking.currency set swift_minimum_withdrawal_amount = null where code <> 'USD';
       update banking.currency set swift_minimum_is_demo = false where code = 'USD'`),
    );

    expect(await corridorsOf(service())).toEqual({ corridors: 1 });
  });
});
