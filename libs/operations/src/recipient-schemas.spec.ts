import type { CorridorQuery } from '@banking/domain';
import { CORRIDORS } from '@banking/reference';
import { LedgerBankingService } from './ledger-banking-service.js';
import { expectWellFormed } from './testing/resources.js';
import { emptyWorld, wordOf, type World } from './testing/worlds.js';

let world: World;
let service: LedgerBankingService;

beforeAll(async () => {
  world = await emptyWorld();
  service = new LedgerBankingService(world.database);
});
afterAll(() => world.close());

const INDIA: CorridorQuery = { countryCode: 'IN', currencyCode: 'INR', payoutMethod: 'LOCAL' };
const kindsOf = async (query: CorridorQuery) =>
  (await service.listRecipientSchemas({}, query)).map(
    ({ properties }) => properties['beneficiaryAccountType']?.const ?? '',
  );

describe('Given the corridors of a deployment', () => {
  it('When a corridor is loaded, Then it says what it asks for', async () => {
    for (const corridor of CORRIDORS) {
      const { destinationCountry, destinationCurrency, payoutMethod, beneficiaryAccountType } = corridor;
      const query = { countryCode: destinationCountry, currencyCode: destinationCurrency, payoutMethod };

      const schemas = await service.listRecipientSchemas({}, { ...query, beneficiaryAccountType });

      expect(schemas.length).toBeGreaterThan(0);
      expectWellFormed(schemas);
    }
  });

  it('When nothing is said of the beneficiary, Then persons come before companies', async () => {
    expect(await kindsOf(INDIA)).toEqual(['Individual', 'Corporate']);
    expect(await kindsOf({ ...INDIA, beneficiaryAccountType: 'Corporate' })).toEqual(['Corporate']);
  });

  it.each([
    { ...INDIA, countryCode: 'in', currencyCode: 'inr' },
    { ...INDIA, countryCode: 'Ind' },
  ])('When it is written $countryCode $currencyCode, Then it is the same', async (query) => {
    expect(await service.listRecipientSchemas({}, query)).toEqual(await service.listRecipientSchemas({}, INDIA));
  });

  it.each<[string, Partial<CorridorQuery>]>([
    ['a country that is none', { countryCode: 'ZZ' }],
    ['a country we do not pay to', { countryCode: 'KP' }],
    ['another currency', { currencyCode: 'CHF' }],
    ['a currency that is none', { currencyCode: 'ZZZ' }],
    ['a method that is none', { payoutMethod: 'PIGEON' }],
    ['a beneficiary that is none', { beneficiaryAccountType: 'Ghost' }],
  ])('When it is asked for %s, Then there is none', async (_, other) => {
    expect(await wordOf(service.listRecipientSchemas({}, { ...INDIA, ...other }))).toBe('corridor_not_found');
  });

  it('When one is closed, Then it still says so; when its row is gone, Then it is not there', async () => {
    const rows = `where destination_country = 'IN' and destination_currency_id = 356 and payout_method = 'LOCAL'`;
    await world.owner.query(`update corridor set enabled = false ${rows}`);
    expect(await kindsOf(INDIA)).toEqual(['Individual', 'Corporate']);

    await world.owner.query(`delete from corridor ${rows} and beneficiary_account_type = 'Individual'`);
    expect(await kindsOf(INDIA)).toEqual(['Corporate']);

    await world.owner.query(`delete from corridor ${rows}`);
    expect(await wordOf(kindsOf(INDIA))).toBe('corridor_not_found');
  });

  it('When a deployment adds one nobody has written down, Then it is not there, for nothing could be checked', async () => {
    await world.owner.query(
      `insert into corridor select 900001, 'AQ', destination_currency_id, limit_currency_id, payout_method,
         beneficiary_account_type, routing_code_type, delivery_tat, minimum_amount, maximum_amount, enabled from corridor limit 1`,
    );

    const asked = { countryCode: 'AQ', currencyCode: 'INR', payoutMethod: 'LOCAL' };
    expect(await wordOf(service.listRecipientSchemas({}, asked))).toBe('corridor_not_found');
  });
});

describe('Given the purposes', () => {
  it('When they are listed, Then each code has its text', async () => {
    expect(await service.listPurposes()).toMatchObject({ IR001: 'Own account', IR002: 'Family maintenance' });
  });
});
