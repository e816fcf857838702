import type { CorridorQuery } from '@banking/domain';
import { CORRIDORS } from '@banking/reference';
import { reasonOf } from '@banking/postgres/testing';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { expectWellFormed } from '../testing/order-world.js';
import { emptyDatabase, type TestDatabase } from '../testing/test-databases.js';

let world: TestDatabase;
let service: LedgerBankingService;

beforeAll(async () => {
  world = await emptyDatabase();
  service = new LedgerBankingService(world.database);
});
afterAll(() => world.close());

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

    expect(await connected.listPurposes()).toMatchObject({ IR001: 'Own account', IR002: 'Family maintenance' });
  });

  it('are none without a network', async () => {
    expect(await service.listPurposes()).toEqual({});
  });
});
