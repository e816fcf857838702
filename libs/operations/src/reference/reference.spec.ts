import { Refusal } from '@banking/domain';
import { type BoundStatement, Database } from '@banking/postgres';
import { demoDatabase } from '../testing/test-databases.js';
import { deleteOldReference, Reference, ReferenceData, type ReferenceFacts } from './reference.js';

describe('the reference data of a snapshot', () => {
  const AT = '2026-11-22T09:30:00.5+00:00';
  const TIMES = { createdAt: '2026-11-22T09:30:00.500000Z', updatedAt: '2026-11-22T09:30:00.500000Z' };

  const FACTS: ReferenceFacts = [
    [
      [840, 'USD', 'US Dollar', null, 2, null, AT, AT],
      [978, 'EUR', 'Euro', '€', 2, '5000', AT, AT],
    ],
    [
      [1, 'Current account', 'For payments', 978, AT, AT, true],
      [2, 'Former account', null, 978, AT, AT, false],
    ],
    [[3, 'Northwind Bank', 'DE', 'NWBADEFF', AT, AT]],
    [
      ['AE', 'SAL', 'Salary'],
      ['other', 'SUPP', 'Supplier payment'],
    ],
  ];

  const EURO = {
    ...{ id: 978, code: 'EUR', name: 'Euro', symbol: '€', decimals: 2, swiftMinimumWithdrawalAmount: '5000' },
    ...TIMES,
  };

  const reference = new Reference(7n, FACTS);

  it('is read by every later program', () => {
    expect(reference.currency(978)).toEqual(EURO);
    expect(reference.currency(840)).toEqual({ id: 840, code: 'USD', name: 'US Dollar', decimals: 2, ...TIMES });
    expect(reference.products).toEqual([
      { id: 1, name: 'Current account', description: 'For payments', ...TIMES, edges: { currency: EURO } },
    ]);
    expect(reference.bank(3)).toEqual({
      ...{ id: 3, name: 'Northwind Bank', countryCode: 'DE', swiftCode: 'NWBADEFF' },
      ...TIMES,
    });
  });

  it('has no other rows', () => {
    expect(() => reference.currency(1)).toThrow('the reference data has no row 1');
  });
});

describe('reference data', () => {
  const EURO = 978;
  let world: Awaited<ReturnType<typeof demoDatabase>>;
  let reference: ReferenceData;
  let clockMs: number;

  beforeAll(async () => {
    world = await demoDatabase();
  });

  afterAll(() => world.close());

  beforeEach(() => {
    clockMs = 1_000_000;
    jest.spyOn(performance, 'now').mockImplementation(() => clockMs);
    reference = new ReferenceData(world.database);
  });

  afterEach(() => jest.restoreAllMocks());

  const rename = (name: string) => world.owner.query('update currency set name = $1 where id = $2', [name, EURO]);
  const nameOfEuro = async () => (await reference.current()).currency(EURO).name;

  describe('the reference data in memory', () => {
    it('is used for half a second without a query', async () => {
      await reference.current();
      const pipeline = jest.spyOn(world.database, 'pipeline');

      clockMs += 499;
      await reference.current();

      expect(pipeline).not.toHaveBeenCalled();
    });

    it('shows the change of another process after a second', async () => {
      await rename('Before');
      expect(await nameOfEuro()).toBe('Before');
      await rename('After');

      clockMs += 1_001;

      expect(await nameOfEuro()).toBe('After');
    });

    it('is compared in the background before a caller has to wait for it', async () => {
      await rename('Before');
      await reference.current();
      await rename('After');
      const read = jest.spyOn(world.database, 'read');

      clockMs += 600;
      expect(await nameOfEuro()).toBe('Before');
      await read.mock.results[0]!.value;

      expect(read).toHaveBeenCalledTimes(1);
      await expect(reference.compose((current) => current.currency(0))).rejects.toThrow('has no row 0');
      expect(await nameOfEuro()).toBe('After');
    });

    it('has a new version after each change of a currency, a product or a bank, and after no other', async () => {
      const version = async () => {
        clockMs += 1_001;
        return (await reference.current()).version;
      };
      let before = await version();
      for (const [table, isChange] of [
        ['currency', true],
        ['product', true],
        ['bank', true],
        ['corridor', false],
      ] as const) {
        await world.owner.query(`update ${table} set updated_at = now()`);
        const after = await version();
        expect([table, after > before]).toEqual([table, isChange]);
        before = after;
      }
      await world.owner.query('update currency set name = name where false');
      expect(await version()).toBe(before);
    });

    it('is read at once for a row that refers to newer data', async () => {
      await reference.current();
      await world.owner.query(`insert into product (id, name, currency_id) values (77, 'New', ${EURO})`);

      const product = await reference.compose((current) => current.product(77));

      expect(product).toMatchObject({ id: 77, name: 'New', edges: { currency: { code: 'EUR' } } });
    });

    it('cannot be changed by a response that contains it', async () => {
      const { edges } = (await reference.current()).product(1);

      expect([edges, edges.currency].map((part) => Object.isFrozen(part))).toEqual([true, true]);
    });

    it('reports an unknown outcome if it cannot be read after a change', async () => {
      const isDown = { now: false };
      const failing = Object.assign(Object.create(world.database) as Database, {
        read: (scope: object, bound: BoundStatement<unknown>) =>
          isDown.now ? Promise.reject(new Refusal('unavailable')) : world.database.read(scope, bound),
      });
      const compose = await new ReferenceData(failing).beforeChange();
      isDown.now = true;

      await expect(compose((current) => current.product(78))).rejects.toMatchObject({ reason: 'outcome_unknown' });
    });
  });

  describe('the snapshots of reference data', () => {
    const versions = async () => {
      const { rows } = await world.owner.query<{ version: bigint }>(
        'select version from reference_snapshot order by version',
      );
      return rows.map(({ version }) => version);
    };
    const current = async () => (await new ReferenceData(world.database).current()).version;

    it('are stored with each version that a process reads, and read again by their version', async () => {
      await rename('Before');
      const before = await current();
      await rename('After');
      const after = await current();

      expect(await versions()).toEqual(expect.arrayContaining([before, after]));
      expect((await reference.ofVersion(before)).currency(EURO).name).toBe('Before');
      expect((await reference.ofVersion(after)).currency(EURO).name).toBe('After');
    });

    it('are stored again if the database does not have the one in use, as after a failover', async () => {
      const { version } = await reference.current();
      await world.owner.query('delete from reference_snapshot');

      clockMs += 1_001;
      await reference.current();

      expect(await versions()).toEqual([version]);
    });

    it('are deleted 31 days after a newer one was stored, and the newest never', async () => {
      await world.owner.query('delete from reference_snapshot');
      for (const [version, days] of [
        [901, 90],
        [902, 40],
        [903, 30],
      ]) {
        await world.owner.query(
          `insert into reference_snapshot (version, facts, created_at) values ($1, '[]', now() - make_interval(days => $2))`,
          [version, days],
        );
      }

      expect(await deleteOldReference(world.database)).toBe(1);
      expect(await versions()).toEqual([902n, 903n]);
      await world.owner.query(`update reference_snapshot set created_at = now() - interval '90 days'`);
      expect(await deleteOldReference(world.database)).toBe(1);
      expect(await versions()).toEqual([903n]);
    });
  });
});
