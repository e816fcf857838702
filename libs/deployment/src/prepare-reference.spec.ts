import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { reasonOf, sql } from '@banking/postgres/testing';
import { migrateDeployment } from './migrate-deployment.js';
import { openDeployment, type DeploymentSettings } from './open-deployment.js';
import { ownServer, type OwnServer } from './testing/own-server.js';

const TERMS = `
terms:
  all: { limitCurrency: USD, minimumAmount: '1', maximumAmount: '2', deliveryTAT: T+3 }
corridors:
  - { id: 1, destinationCountry: IN, destinationCurrency: INR, payoutMethod: LOCAL, beneficiaryAccountType: Individual,
      routingCodeType: IFSC, terms: all }
`;

describe('the reference data of a live database', () => {
  let server: OwnServer;
  let database: Awaited<ReturnType<OwnServer['makeDatabase']>>;
  /** It has the tables, and no reference data yet. */
  let template: typeof database;

  beforeAll(async () => {
    server = await ownServer();
    template = await server.makeDatabase();
    await migrateDeployment({ connection: { connectionString: template.urlOf('owner') }, isSandbox: false });
  });
  afterAll(async () => {
    await template.drop();
    await server.close();
  });
  beforeEach(async () => {
    database = await server.makeDatabase(template);
    await database.query('revoke temporary on database @database from public');
  });
  afterEach(() => database.drop());

  /** A service cannot prepare a database. */
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
    const counts = sql(
      `select (select count(*)::int from corridor) as corridors, (select count(*)::int from product) as products,
              (select count(swift_minimum_withdrawal_amount)::int from currency) as minimums`,
    );
    const row = await deployment.database.read({}, counts);
    await deployment.close();
    return row;
  };

  it('is products, and nothing that is invented', async () => {
    await migrated();

    expect(await corridorsOf(service())).toEqual({ corridors: 0, products: 16, minimums: 0 });
  });

  it('is that of a document, which a service without the right to apply it has to find applied', async () => {
    await migrated({ reference: TERMS });
    expect(await corridorsOf({ ...service(), reference: TERMS })).toMatchObject({ corridors: 1 });

    const other = { ...service(), reference: TERMS.replace('T+3', 'T+4') };
    expect(await reasonOf(openDeployment(other))).toMatch(
      /^The reference data of the database is not that of this release and of REFERENCE_FILE, .+ Run banking migrate/,
    );
    await migrated({ reference: other.reference });
    expect(await corridorsOf(other)).toMatchObject({ corridors: 1 });
  });

  it('is that of the page Go live', async () => {
    const page = readFileSync(join(__dirname, '../../../docs/go-live.md'), 'utf8');
    const [, reference = ''] = /```yaml\n(terms:.+?)```/s.exec(page) ?? [];
    await migrated({ reference });

    expect(await corridorsOf({ ...service(), reference })).toMatchObject({ corridors: 1, products: 1 });
  });

  it('has the products of the document only, if it states some', async () => {
    const reference = 'products: [{ id: 1, name: Euro account, currency: EUR }]';
    await migrated({ reference });

    expect(await corridorsOf({ ...service(), reference })).toMatchObject({ products: 1 });
    expect(await reasonOf(migrated({ reference: reference.replace('EUR', 'USD') }))).toBe(
      'REFERENCE_FILE: Product 1 is in EUR for ever. Give the new product another id.',
    );
  });

  it('takes no document with a mistake, or with invented figures', async () => {
    expect(await reasonOf(migrated({ reference: TERMS.replace('IFSC', 'SORT CODE') }))).toMatch(
      /^REFERENCE_FILE has a mistake:\n {2}- line 5, corridors\[0\]: There is no format of account numbers/,
    );
    expect(await reasonOf(migrated({ reference: `sandboxOnly: true\n${TERMS}` }))).toMatch(
      /^REFERENCE_FILE: .+ invented .+ the database is live/,
    );
    await migrated();
    expect(await corridorsOf(service())).toMatchObject({ corridors: 0 });
  });
});
