import * as fc from 'fast-check';
import {
  API_ROLE,
  type Database,
  OPERATOR_ROLE,
  RULE_VIOLATION,
  SCHEMA,
  SQLSTATE,
  WORKER_ROLE,
} from '@banking/postgres';
import { openDatabase, reasonOf, sql } from '@banking/postgres/testing';
import { demoReference, newProducts, type ReferenceContent } from '@banking/reference';
import { listCorridors, listPurposes } from '../corridors/corridors.js';
import { openReading } from '../resources/reading.js';
import { emptyDatabase, loadReference, type TestDatabase } from '../testing/test-databases.js';
import {
  applyDueReference,
  listReferenceChanges,
  missingReference,
  readReferenceContent,
  recordReference,
  withdrawReference,
} from './reference-changes.js';
import { fixedFieldsChanged, referenceDifferences } from './reference-differences.js';

const DEMO = { ...newProducts(), ...demoReference() };

let world: TestDatabase;
let operator: Database;

beforeEach(async () => {
  world = await emptyDatabase();
  operator = await openDatabase({ connection: world.connection, role: OPERATOR_ROLE, schema: SCHEMA, poolSize: 1 });
});
afterEach(async () => {
  await operator.end();
  await world.close();
});

const apply = (content: ReferenceContent, more: { readonly effectiveAt?: string; readonly withdraws?: boolean } = {}) =>
  recordReference(operator, { content, origin: 'operator', recordedBy: 'lena', ...more });

const FUTURE = '2999-01-01T00:00:00Z';

/** Lets the documents that wait become effective. */
const reach = () =>
  world.owner.query(
    `alter table reference_change disable trigger user;
     update reference_change set effective_at = now() where applied_at is null and withdrawn_at is null;
     alter table reference_change enable trigger user`,
  );

const corridor = (id: number, part: object = {}) => ({ ...DEMO.corridors!.find((one) => one.id === id)!, ...part });

describe('the reference data of a new sandbox', () => {
  it('is that of the demo, with currencies and banks of the release', async () => {
    expect(referenceDifferences(await readReferenceContent(operator), DEMO)).toEqual([]);
    const row = await operator.read(
      {},
      sql('select (select count(*)::int from currency) as currencies, (select count(*)::int from bank) as banks'),
    );
    expect(row).toEqual({ currencies: expect.any(Number), banks: expect.any(Number) });
  });

  it('does not change if two processes load it again', async () => {
    const before = await listReferenceChanges(operator, 100);

    await Promise.all([loadReference(world), loadReference(world)]);

    expect(await listReferenceChanges(operator, 100)).toEqual(before);
    expect(await missingReference(operator, { isSandbox: true, release: 'this release' })).toEqual([]);
  });

  it('is corrected where a row is not that of the release', async () => {
    await world.owner.query(
      `update currency set name = 'Money', updated_at = now() where code = 'USD';
       alter table reference_change disable trigger user;
       update reference_change set content = content || '{"currencies": []}' where content ? 'currencies';
       alter table reference_change enable trigger user`,
    );

    await loadReference(world);

    expect(await operator.read({}, sql(`select name from currency where code = 'USD'`))).toEqual({ name: 'US Dollar' });
  });
});

describe('the documents that a process still has to record', () => {
  const kindsOf = async (isSandbox: boolean, given?: ReferenceContent) =>
    (await missingReference(operator, { isSandbox, release: 'r', given: given && { content: given } })).map(
      ({ origin, content }) => `${origin} ${Object.keys(content).join(' ')}`,
    );

  it('are its own one until it is recorded, and again after another', async () => {
    const [first, second] = [{ purposes: [] }, { swiftMinimums: {} }];
    expect(await kindsOf(true, first)).toEqual(['operator purposes']);

    await apply(first);
    expect(await kindsOf(true, first)).toEqual([]);
    await apply(second);
    expect(await kindsOf(true, first)).toEqual(['operator purposes']);
  });

  it('are products in a live database, and nothing invented', async () => {
    await world.owner.query(
      'alter table reference_change disable trigger user; delete from reference_change where false',
    );
    await world.owner.query(
      `set session_replication_role = replica; delete from reference_change; set session_replication_role = origin`,
    );

    expect(await kindsOf(false)).toEqual(['release currencies banks', 'release products']);
    expect(await kindsOf(true)).toEqual([
      'release currencies banks',
      'release products sandboxOnly corridors purposes swiftMinimums',
    ]);
  });
});

describe('a document', () => {
  it('changes what it states, and leaves the rest and its times as they are', async () => {
    const times = async () =>
      new Map(
        (await listCorridors(openReading(operator), true, 'IN')).map(({ id, updatedAt }) => [Number(id), updatedAt]),
      );
    const before = await times();
    const cheaper = { fee: { fixedAmount: '5', partsPerMillion: 1, minimumAmount: '6', maximumAmount: '7' } };
    const corridors = DEMO.corridors!.map((one) => (one.id === 1 ? { ...one, ...cheaper } : one));

    const { isApplied } = await apply({ corridors });

    expect(isApplied).toBe(true);
    const after = await readReferenceContent(operator);
    expect(referenceDifferences(after, { ...DEMO, corridors })).toEqual([]);
    expect([...(await times())].filter(([id, time]) => before.get(id) !== time).map(([id]) => id)).toEqual([1]);
    expect((await listCorridors(openReading(operator), true, 'IN'))[0]).toMatchObject({ id: 1, ...cheaper });
  });

  it('closes corridors that it leaves out, and offers no such product', async () => {
    await apply({ corridors: [corridor(1)], products: [DEMO.products![0]!] });

    const { corridors, products } = await readReferenceContent(operator);
    expect(corridors!.filter(({ enabled }) => enabled).map(({ id }) => id)).toEqual([1]);
    expect(products!.map(({ id }) => id)).toEqual([1]);

    await apply({ products: DEMO.products! });
    expect((await readReferenceContent(operator)).products).toHaveLength(16);
  });

  it('can give a country a list of purposes of its own', async () => {
    await apply({
      purposes: [
        { code: 'A1', text: 'One' },
        { code: 'B2', text: 'Two', countries: ['AE', 'IN'] },
      ],
    });

    const { reference } = openReading(operator);
    expect(await listPurposes(reference, 'ind')).toEqual({ B2: 'Two' });
    expect(await listPurposes(reference, 'DE')).toEqual({ A1: 'One' });
    expect(await listPurposes(reference, undefined)).toEqual({ A1: 'One' });
    expect(await reasonOf(listPurposes(reference, 'ZZ'))).toBe('country_unknown');
  });

  it('of a later time waits for it, and then applies once', async () => {
    const stated = { corridors: [corridor(1, { minimumAmount: '4' })] };
    expect((await apply(stated, { effectiveAt: FUTURE })).isApplied).toBe(false);
    expect(await applyDueReference(world.database.as(WORKER_ROLE))).toBe(0);
    expect(referenceDifferences(await readReferenceContent(operator), DEMO)).toEqual([]);

    await reach();
    const counts = await Promise.all([applyDueReference(operator), applyDueReference(operator)]);

    expect(counts.sort()).toEqual([0, 1]);
    expect(referenceDifferences(await readReferenceContent(operator), stated)).toEqual([]);
  });

  it('is refused while another waits, unless it withdraws that one', async () => {
    const { id } = await apply({ purposes: [] }, { effectiveAt: FUTURE });

    expect(await reasonOf(apply({ swiftMinimums: {} }))).toMatch(/^Another document waits/);
    await apply({ swiftMinimums: {} }, { withdraws: true });

    const changes = await listReferenceChanges(operator, 2);
    expect(changes.map((change) => [change.id === id, change.appliedAt !== null, change.withdrawnAt !== null])).toEqual(
      [
        [false, true, false],
        [true, false, true],
      ],
    );
    await reach();
    expect(await applyDueReference(operator)).toBe(0);
  });

  it('can be withdrawn while it waits', async () => {
    const { id } = await apply({ purposes: [] }, { effectiveAt: FUTURE });

    expect(await withdrawReference(operator, 'lena')).toBe(id);
    expect(await withdrawReference(operator, 'lena')).toBeUndefined();
  });

  it('with invented figures is refused by a live database', async () => {
    await world.owner.query(
      `set session_replication_role = replica; update deployment_mode set is_sandbox = false; set session_replication_role = origin`,
    );

    expect(await reasonOf(apply({ sandboxOnly: true, purposes: [] }))).toMatch(/invented .+ the database is live/);
    await apply({ purposes: [] });
  });

  it('cannot change where a corridor leads, or the currency of a product', async () => {
    const moved = {
      corridors: [corridor(1, { destinationCountry: 'NP' })],
      products: [{ id: 1, name: 'x', currency: 'EUR' as const }],
    };
    const current = await readReferenceContent(operator);

    expect(fixedFieldsChanged(current, moved)).toEqual([
      'Product 1 is in USD for ever. Give the new product another id.',
      'Corridor 1 leads to IN INR LOCAL Individual for ever. Give the new corridor another id.',
    ]);
    expect(fixedFieldsChanged(current, { corridors: [{ ...corridor(1), id: 7_000 }] })).toEqual([
      'Corridor 7000 leads where corridor 1 does. Keep the id 1.',
    ]);
    await expect(apply({ corridors: moved.corridors })).rejects.toMatchObject({ code: RULE_VIOLATION.recordChanged });
    await expect(apply({ products: moved.products })).rejects.toMatchObject({ code: RULE_VIOLATION.recordChanged });
    expect(referenceDifferences(await readReferenceContent(operator), DEMO)).toEqual([]);
  });

  it('cannot be recorded by the service, and reference data cannot be written otherwise', async () => {
    const service = world.database.as(API_ROLE);
    const statements = [
      `select record_reference_change('{}', 'operator', null, 'x', null, false)`,
      'update corridor set minimum_amount = 0',
      'insert into product (id, name, currency_id) values (99, $$x$$, 978)',
      'update currency set name = code',
      'delete from purpose',
      'update reference_change set applied_at = now()',
    ];

    for (const statement of statements) {
      await expect(service.pipeline({}, [sql(statement)])).rejects.toMatchObject({
        code: SQLSTATE.insufficientPrivilege,
      });
    }
  });
});

describe('any sequence of documents', () => {
  const amounts = fc.bigInt({ min: 0n, max: 10n ** 17n }).map(String);
  const terms = fc
    .record({ minimumAmount: amounts, enabled: fc.boolean(), deliveryTAT: fc.constantFrom('T+1', 'T+9') })
    .map((part) => ({ ...part, maximumAmount: '900000000000000000' }));
  const corridors = fc
    .uniqueArray(fc.integer({ min: 1, max: 6 }), { minLength: 0 })
    .chain((ids) => fc.tuple(...ids.map((id) => terms.map((part) => corridor(id, part)))));
  const products = fc.subarray([...DEMO.products!]);
  const purposes = fc.uniqueArray(
    fc.record({
      code: fc.constantFrom('A', 'B', 'C'),
      text: fc.constantFrom('x', 'y'),
      countries: fc.constantFrom(undefined, ['IN'], ['DE', 'AE']),
    }),
    { selector: ({ code }) => code },
  );
  const swiftMinimums = fc.dictionary(
    fc.constantFrom('USD', 'EUR', 'JPY'),
    amounts.map((text) => `1${text}`.slice(0, 18)),
  );
  const documents = fc.record({ corridors, products, purposes, swiftMinimums }, { requiredKeys: [] });

  it('leaves the parts as they were stated last, and closed corridors besides', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(documents, { minLength: 1, maxLength: 4 }), async (list) => {
        for (const content of list) await apply(JSON.parse(JSON.stringify(content)) as ReferenceContent);
        const latest = Object.assign({}, ...list) as ReferenceContent;

        expect(referenceDifferences(await readReferenceContent(operator), latest)).toEqual([]);
      }),
      { numRuns: 25 },
    );
  });
});
