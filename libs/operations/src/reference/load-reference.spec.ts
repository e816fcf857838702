import { assert, asyncProperty, bigInt } from 'fast-check';
import { type CorridorQuery, isTimestamp } from '@banking/domain';
import { bind, RULE_VIOLATION, sqlStatement } from '@banking/postgres';
import { reasonOf, sql } from '@banking/postgres/testing';
import { BANKS, CORRIDORS, PRODUCTS } from '@banking/reference';
import { listCorridors } from '../corridors/corridors.js';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { timestampOf } from '../resources/columns.js';
import { openReading } from '../resources/reading.js';
import { expectWellFormed } from '../testing/order-world.js';
import { emptyDatabase, type TestDatabase } from '../testing/test-databases.js';
import { countDemoReference, loadReference } from './load-reference.js';

let world: TestDatabase;

beforeAll(async () => {
  world = await emptyDatabase();
});

afterAll(() => world.close());

const TABLES = ['currency', 'product', 'bank', 'corridor'];

async function everything(): Promise<unknown[]> {
  const rows: unknown[] = [];
  for (const table of TABLES) rows.push((await world.owner.query(`select * from ${table} order by id`)).rows);
  return rows;
}

describe('loaded reference data', () => {
  it('does not change if two processes load it again', async () => {
    const before = await everything();

    await Promise.all([loadReference(world.database, { demo: true }), loadReference(world.database, { demo: true })]);

    expect(await everything()).toEqual(before);
    for (const rows of before) expect(rows).not.toHaveLength(0);
  });

  it('keeps the limits and the status that an operator has set for a corridor', async () => {
    const [first] = await listCorridors(openReading(world.database), true, 'DE');
    await world.owner.query(
      `update corridor set enabled = false, delivery_tat = 'T+9', maximum_amount = 7000000 where id = $1`,
      [first!.id],
    );

    await loadReference(world.database, { demo: true });

    const again = (await listCorridors(openReading(world.database), true, 'DE')).find(({ id }) => id === first!.id);
    expect(again).toEqual({ ...first, enabled: false, deliveryTAT: 'T+9', maximumAmount: '7000000' });
  });

  it('restores ISO values of a currency and keeps the others', async () => {
    await world.owner.query(
      `update currency set name = 'Money', swift_minimum_withdrawal_amount = 123 where code = 'USD'`,
    );

    await loadReference(world.database, { demo: true });

    const { rows } = await world.owner.query(
      `select name, swift_minimum_withdrawal_amount::int as least from currency where code = 'USD'`,
    );
    expect(rows).toEqual([{ name: 'US Dollar', least: 123 }]);
  });

  it('is marked as demo, until a deployment has set it', async () => {
    const before = await countDemoReference(world.database);
    expect(before).toEqual({ corridors: CORRIDORS.length, minimums: 16 });
    await world.owner.query(
      `update corridor set is_demo = false, delivery_tat = 'T+3' where id = 1;
       update currency set swift_minimum_is_demo = false where code = 'USD'`,
    );

    await loadReference(world.database, { demo: true });

    expect(await countDemoReference(world.database)).toEqual({ corridors: CORRIDORS.length - 1, minimums: 15 });
  });

  it('refuses other decimals of a currency in the database', async () => {
    const change = world.database.pipeline({}, [sql(`update currency set decimals = 0 where code = 'USD'`)]);

    await expect(change).rejects.toMatchObject({ code: RULE_VIOLATION.recordChanged });
  });
});

describe('reference data without that of the demo', () => {
  it('has currencies, products and banks, and no figures that are invented', async () => {
    const bare = await emptyDatabase({
      name: 'no-demo',
      prepare: ({ database }) => loadReference(database, { demo: false }),
    });

    const { rows } = await bare.owner.query(
      `select (select count(*)::int from corridor) as corridors, (select count(*)::int from product) as products,
              (select count(*)::int from bank) as banks, (select count(swift_minimum_withdrawal_amount)::int from currency) as minimums`,
    );
    const counted = await countDemoReference(bare.database);
    await bare.close();

    expect(rows).toEqual([{ corridors: 0, products: PRODUCTS.length, banks: BANKS.length, minimums: 0 }]);
    expect(counted).toEqual({ corridors: 0, minimums: 0 });
  });
});

describe('recipient schemas', () => {
  let service: LedgerBankingService;

  beforeAll(async () => {
    service = new LedgerBankingService(world.database);
  });

  const INDIA: CorridorQuery = { countryCode: 'IN', currencyCode: 'INR', payoutMethod: 'LOCAL' };

  const kindsOf = async (query: CorridorQuery) =>
    (await service.listRecipientSchemas({}, query)).map(
      ({ properties }) => properties['beneficiaryAccountType']?.const ?? '',
    );

  describe('the recipient schemas of a deployment', () => {
    it('exist for each corridor', async () => {
      for (const corridor of CORRIDORS) {
        const { destinationCountry, destinationCurrency, payoutMethod, beneficiaryAccountType } = corridor;
        const query = { countryCode: destinationCountry, currencyCode: destinationCurrency, payoutMethod };
        const schemas = await service.listRecipientSchemas({}, { ...query, beneficiaryAccountType });

        expect(schemas.length).toBeGreaterThan(0);
        expectWellFormed(schemas);
      }
    });

    it('begin with persons if no beneficiary type is given', async () => {
      expect(await kindsOf(INDIA)).toEqual(['Individual', 'Corporate']);
      expect(await kindsOf({ ...INDIA, beneficiaryAccountType: 'Corporate' })).toEqual(['Corporate']);
    });

    it.each([
      { ...INDIA, countryCode: 'in', currencyCode: 'inr' },
      { ...INDIA, countryCode: 'Ind' },
    ])('are the same for $countryCode $currencyCode', async (query) => {
      expect(await service.listRecipientSchemas({}, query)).toEqual(await service.listRecipientSchemas({}, INDIA));
    });

    it.each<[string, Partial<CorridorQuery>]>([
      ['a country that is none', { countryCode: 'ZZ' }],
      ['a country we do not pay to', { countryCode: 'KP' }],
      ['another currency', { currencyCode: 'CHF' }],
      ['a currency that is none', { currencyCode: 'ZZZ' }],
      ['a method that is none', { payoutMethod: 'PIGEON' }],
      ['a beneficiary that is none', { beneficiaryAccountType: 'Ghost' }],
    ])('do not exist for %s', async (_, other) => {
      expect(await reasonOf(service.listRecipientSchemas({}, { ...INDIA, ...other }))).toBe('corridor_not_found');
    });

    it('exist for a closed corridor and not for a missing one', async () => {
      const rows = `where destination_country = 'IN' and destination_currency_id = 356 and payout_method = 'LOCAL'`;
      await world.owner.query(`update corridor set enabled = false ${rows}`);
      expect(await kindsOf(INDIA)).toEqual(['Individual', 'Corporate']);

      await world.owner.query(`delete from corridor ${rows} and beneficiary_account_type = 'Individual'`);
      expect(await kindsOf(INDIA)).toEqual(['Corporate']);

      await world.owner.query(`delete from corridor ${rows}`);
      expect(await reasonOf(kindsOf(INDIA))).toBe('corridor_not_found');
    });

    it('do not exist for a corridor that the reference data lacks', async () => {
      await world.owner.query(
        `insert into corridor select 900001, 'AQ', destination_currency_id, limit_currency_id, payout_method,
         beneficiary_account_type, routing_code_type, delivery_tat, minimum_amount, maximum_amount, enabled from corridor limit 1`,
      );

      const asked = { countryCode: 'AQ', currencyCode: 'INR', payoutMethod: 'LOCAL' };
      expect(await reasonOf(service.listRecipientSchemas({}, asked))).toBe('corridor_not_found');
    });
  });

  describe('the purposes', () => {
    it('are those of the payment network, with a text for each code', async () => {
      const connected = new LedgerBankingService(world.database, world.books, { hasPayoutNetwork: true });

      expect(await connected.listPurposes({})).toMatchObject({ IR001: 'Own account', IR002: 'Family maintenance' });
    });

    it('are none without a network', async () => {
      expect(await service.listPurposes({})).toEqual({});
    });
  });
});

const WRITTEN = sqlStatement<{ text: string; packed: readonly [string]; expected: string }>(
  'spec.written_times',
  `select t as text, json_build_array(t) as packed, rfc3339(t) as expected
   from (select timestamptz 'epoch' + $1::bigint * interval '1 microsecond' as t) t`,
);

/** 9999-12-30 in microseconds. PostgreSQL multiplies the interval by a double, so the last digits are not those asked for. */
const LAST = 253_402_128_000_000_000n;

it('writes a time of PostgreSQL, of a column and of JSON, as the function rfc3339 does', async () => {
  const micros = bigInt({ min: -LAST / 8n, max: LAST });
  await assert(
    asyncProperty(micros, async (at) => {
      const row = await world.database.read({}, bind(WRITTEN, at.toString()));
      const { text, packed, expected } = row!;
      expect([timestampOf(text), timestampOf(packed[0])]).toEqual([expected, expected]);
      expect(isTimestamp(expected)).toBe(true);
    }),
    { numRuns: 200, examples: [[0n], [1n], [500_000n], [LAST]] },
  );
});
