import * as fc from 'fast-check';
import { SANDBOX_ROUTING } from '@banking/payouts';
import { API_ROLE, type Database, OPERATOR_ROLE, SCHEMA, SQLSTATE, WORKER_ROLE } from '@banking/postgres';
import { keepRows, openDatabase, reasonOf, sql, testOrProve } from '@banking/postgres/testing';
import { demoReference, newProducts, type ReferenceContent } from '@banking/reference';
import { listCorridors, listPurposes } from '../corridors/corridors.js';
import { openReading } from '../resources/reading.js';
import { emptyDatabase, loadReference, type TestDatabase } from '../testing/test-databases.js';
import {
  applyDueReference,
  listReferenceChanges,
  missingReference,
  readReferenceInForce,
  ReferenceChangeError,
  recordReference,
  tryReference,
  withdrawReference,
} from './reference-changes.js';
import { referenceDifferences } from './reference-differences.js';

const DEMO = { ...newProducts(), ...demoReference() };

let world: TestDatabase;
let operator: Database;

let restore: () => Promise<void>;

beforeAll(async () => {
  world = await emptyDatabase();
  operator = await openDatabase({ connection: world.connection, role: OPERATOR_ROLE, schema: SCHEMA, poolSize: 1 });
  restore = await keepRows(world.owner);
});
afterEach(() => restore());
afterAll(async () => {
  await operator.end();
  await world.close();
});

const apply = (content: ReferenceContent, more: { readonly effectiveAt?: string; readonly withdraws?: boolean } = {}) =>
  recordReference(operator, { content, origin: 'operator', ...more });

const inForce = async () => (await readReferenceInForce(operator)).content;

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
    expect(referenceDifferences(await inForce(), DEMO)).toEqual([]);
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
  const missing = (isSandbox: boolean, content?: ReferenceContent, effectiveAt?: string) =>
    missingReference(operator, {
      isSandbox,
      release: 'r',
      given: content && { content, ...(effectiveAt !== undefined && { effectiveAt }) },
    });
  const kindsOf = async (...given: Parameters<typeof missing>) =>
    (await missing(...given)).map(({ origin, content }) => `${origin} ${Object.keys(content).join(' ')}`);
  const start = async (...given: Parameters<typeof missing>) => {
    for (const change of await missing(...given)) await recordReference(operator, change);
  };

  it('are its file until that is recorded, and again when the file changes', async () => {
    const [first, second] = [{ purposes: [] }, { swiftMinimums: {} }];
    expect(await kindsOf(true, first)).toEqual(['file purposes']);

    await start(true, first);
    expect(await kindsOf(true, first)).toEqual([]);
    expect(await kindsOf(true, second)).toEqual(['file swiftMinimums']);
    expect(await kindsOf(true, first, FUTURE)).toEqual(['file purposes']);
    expect(await kindsOf(true, first, '2020-01-01T00:00:00Z')).toEqual([]);
  });

  it('do not revert what an operator has applied or withdrawn since', async () => {
    const content = { purposes: [] };
    await start(true, content);
    await apply({ purposes: [{ code: 'A', text: 'B' }] });
    expect(await kindsOf(true, content)).toEqual([]);

    await start(true, content, FUTURE);
    await withdrawReference(operator);
    expect(await kindsOf(true, content, FUTURE)).toEqual([]);
  });

  it('replace a file that waits, and not the document of an operator', async () => {
    await start(true, { purposes: [] }, FUTURE);
    await start(true, { swiftMinimums: {} }, FUTURE);
    expect((await listReferenceChanges(operator, 2)).map(({ status }) => status)).toEqual(['waits', 'withdrawn']);

    await withdrawReference(operator);
    await apply({ purposes: [] }, { effectiveAt: FUTURE });
    expect(await reasonOf(start(true, { products: [] }))).toMatch(/^Another document waits/);
  });

  it('are products in a live database, and nothing invented', async () => {
    await world.owner.query(
      'set session_replication_role = replica; delete from reference_change; set session_replication_role = origin',
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
        (await listCorridors(openReading(operator), SANDBOX_ROUTING, 'IN')).map(({ id, updatedAt }) => [
          Number(id),
          updatedAt,
        ]),
      );
    const before = await times();
    const cheaper = { fee: { fixedAmount: '5', partsPerMillion: 1, minimumAmount: '6', maximumAmount: '7' } };
    const corridors = DEMO.corridors!.map((one) => (one.id === 1 ? { ...one, ...cheaper } : one));

    const { isApplied } = await apply({ corridors });

    expect(isApplied).toBe(true);
    const after = await inForce();
    expect(referenceDifferences(after, { ...DEMO, corridors })).toEqual([]);
    expect([...(await times())].filter(([id, time]) => before.get(id) !== time).map(([id]) => id)).toEqual([1]);
    expect((await listCorridors(openReading(operator), SANDBOX_ROUTING, 'IN'))[0]).toMatchObject({ id: 1, ...cheaper });
  });

  it('closes corridors that it leaves out, and offers no such product', async () => {
    await apply({ corridors: [corridor(1)], products: [DEMO.products![0]!] });

    const { corridors, products } = await inForce();
    expect(corridors!.filter(({ enabled }) => enabled).map(({ id }) => id)).toEqual([1]);
    expect(products!.map(({ id }) => id)).toEqual([1]);

    await apply({ products: DEMO.products! });
    expect((await inForce()).products).toHaveLength(16);
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
    expect(referenceDifferences(await inForce(), DEMO)).toEqual([]);

    await reach();
    const counts = await Promise.all([applyDueReference(operator), applyDueReference(operator)]);

    expect(counts.sort()).toEqual([0, 1]);
    expect(referenceDifferences(await inForce(), stated)).toEqual([]);
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

  it('is the one that waits if it is recorded again, as in several databases', async () => {
    const { id } = await apply({ purposes: [] }, { effectiveAt: FUTURE });

    expect(await apply({ purposes: [] }, { effectiveAt: FUTURE })).toEqual({ id, isApplied: false });
  });

  it('that is overdue is applied by the next one', async () => {
    const { id } = await apply({ purposes: [] }, { effectiveAt: FUTURE });
    await reach();
    expect((await listReferenceChanges(operator, 1))[0]).toMatchObject({ id, status: 'due' });

    await apply({ swiftMinimums: {} });

    expect((await listReferenceChanges(operator, 2)).map(({ status }) => status)).toEqual(['applied', 'applied']);
    expect((await inForce()).purposes).toEqual([]);
  });

  it('is effective when it is recorded if its time has passed', async () => {
    await apply({ corridors: [corridor(1, { minimumAmount: '4' })] }, { effectiveAt: '0001-01-01T00:00:00Z' });

    const [{ createdAt = '', updatedAt = '' } = {}] = await listCorridors(openReading(operator), SANDBOX_ROUTING, 'IN');
    expect(updatedAt > createdAt).toBe(true);
  });

  it('that the database cannot take is refused when it is stated, also for a later time', async () => {
    const wrong: readonly ReferenceContent[] = [
      { swiftMinimums: { EUR: '0' } },
      { products: [{ id: 5, name: 'x', currency: 'EUR' }] },
      { corridors: [corridor(1, { routingCodeType: 'SWIFT' })] },
      { corridors: [corridor(1), { ...corridor(1), id: 7_000 }] },
      { corridors: [corridor(1, { maximumAmount: '0' })] },
    ];
    await apply({ products: [] });

    for (const content of wrong) {
      for (const effectiveAt of [undefined, FUTURE]) {
        const stated = { content, effectiveAt, origin: 'operator', recordedBy: 'lena' } as const;
        await expect(tryReference(operator, stated)).rejects.toThrow(ReferenceChangeError);
        await expect(recordReference(operator, stated)).rejects.toThrow(ReferenceChangeError);
      }
    }
    expect((await listReferenceChanges(operator, 1))[0]).toMatchObject({
      recordedBy: world.owner.user,
      status: 'applied',
    });
  });

  it('that no longer fits when its time comes is withdrawn with the reason, and stops no other', async () => {
    const { id } = await apply({ corridors: [corridor(7)] }, { effectiveAt: FUTURE });
    await world.owner.query(
      `set session_replication_role = replica; update corridor set destination_country = 'MC' where id = 7;
       set session_replication_role = origin`,
    );
    await reach();

    expect(await applyDueReference(operator)).toBe(0);

    expect((await listReferenceChanges(operator, 1))[0]).toMatchObject({
      id,
      withdrawnBy: expect.stringMatching(/^failed: /),
    });
    await apply({ purposes: [] });
    expect((await inForce()).purposes).toEqual([]);
  });

  it('is tried without a trace', async () => {
    const before = await listReferenceChanges(operator, 100);

    await tryReference(operator, { content: { purposes: [] }, origin: 'operator', recordedBy: 'lena' });

    expect(await listReferenceChanges(operator, 100)).toEqual(before);
  });

  it('can be withdrawn while it waits', async () => {
    const { id } = await apply({ purposes: [] }, { effectiveAt: FUTURE });

    expect(await withdrawReference(operator)).toBe(id);
    expect(await withdrawReference(operator)).toBeUndefined();
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

    expect((await reasonOf(apply(moved)))?.split('\n')).toEqual([
      'Product 1 is in USD for ever. Give the new product another id.',
      'Corridor 1 leads to IN INR LOCAL Individual for ever. Give the new corridor another id.',
    ]);
    expect(await reasonOf(apply({ corridors: [{ ...corridor(1), id: 7_000 }] }))).toBe(
      'Corridor 7000 leads where corridor 1 does. Keep the id 1.',
    );
    for (const content of [{ corridors: moved.corridors }, { products: moved.products }]) {
      expect(await reasonOf(apply(content))).toMatch(/ for ever\. Give the new /);
    }
    expect(referenceDifferences(await inForce(), DEMO)).toEqual([]);
  });

  it('cannot be recorded by the service, and reference data cannot be written otherwise', async () => {
    const service = world.database.as(API_ROLE);
    const statements = [
      `select record_reference_change('{}', 'operator', null, 'x', false)`,
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
    fc.bigInt({ min: 1n, max: 10n ** 18n - 1n }).map(String),
  );
  const documents = fc.record({ corridors, products, purposes, swiftMinimums }, { requiredKeys: [] });

  it('leaves the parts as they were stated last, and closed corridors besides', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(documents, { minLength: 1, maxLength: 4 }), async (list) => {
        for (const content of list) await apply(JSON.parse(JSON.stringify(content)) as ReferenceContent);
        const latest = Object.assign({}, ...list) as ReferenceContent;

        expect(referenceDifferences(await inForce(), latest)).toEqual([]);
      }),
      { numRuns: testOrProve(8, 25) },
    );
  });
});
