import { assert, asyncProperty, bigInt } from 'fast-check';
import { type CorridorQuery, isTimestamp } from '@banking/domain';
import { bind, sqlStatement } from '@banking/postgres';
import { reasonOf } from '@banking/postgres/testing';
import { demoReference } from '@banking/reference';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { timestampOf } from '../resources/columns.js';
import { expectWellFormed } from '../testing/order-world.js';
import { emptyDatabase, type TestDatabase } from '../testing/test-databases.js';

let world: TestDatabase;

beforeAll(async () => {
  world = await emptyDatabase();
});

afterAll(() => world.close());

const CORRIDORS = demoReference().corridors!;

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

    it('exist for a closed corridor', async () => {
      const rows = `where destination_country = 'IN' and destination_currency_id = 356 and payout_method = 'LOCAL'`;
      await world.owner.query(`update corridor set enabled = false ${rows}`);

      expect(await kindsOf(INDIA)).toEqual(['Individual', 'Corporate']);
    });

    it('do not exist for a corridor without a format of its account numbers', async () => {
      await world.owner.query(
        `insert into corridor (id, destination_country, destination_currency_id, limit_currency_id, payout_method, beneficiary_account_type,
           routing_code_type, delivery_tat, minimum_amount, maximum_amount, enabled, change_id)
         select 900001, 'AQ', destination_currency_id, limit_currency_id, payout_method, beneficiary_account_type, routing_code_type,
           delivery_tat, minimum_amount, maximum_amount, enabled, change_id from corridor limit 1`,
      );

      const asked = { countryCode: 'AQ', currencyCode: 'INR', payoutMethod: 'LOCAL' };
      expect(await reasonOf(service.listRecipientSchemas({}, asked))).toBe('corridor_not_found');
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
