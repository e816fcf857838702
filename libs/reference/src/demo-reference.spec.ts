import { currencyOf } from '@banking/domain';
import { countryOf } from './countries.js';
import { demoReference, newProducts, type ReferenceContent } from './reference-document.js';
import { SEPA_COUNTRIES } from './recipients/routing-sources.js';

type StatedCorridor = NonNullable<ReferenceContent['corridors']>[number];

const CORRIDORS = demoReference().corridors!;

const corridorsTo = (country: string) => CORRIDORS.filter((corridor) => corridor.destinationCountry === country);

const BIGINT_MAX = 2n ** 63n - 1n;

const destinations = new Set(CORRIDORS.map((corridor) => corridor.destinationCountry));

describe('each corridor', () => {
  it('names its country by an alpha-2 code of ISO 3166-1', () => {
    const unknown = CORRIDORS.filter(({ destinationCountry: code }) => countryOf(code)?.alpha2 !== code);

    expect(unknown).toEqual([]);
  });

  it('has two current currencies with a smallest unit', () => {
    const codes = new Set(CORRIDORS.flatMap((corridor) => [corridor.destinationCurrency, corridor.limitCurrency]));

    for (const code of codes) expect(currencyOf(code).decimals).toBeGreaterThanOrEqual(0);
  });

  it('has limits in plain digits, in order, that the ledger can store', () => {
    const wrong = CORRIDORS.filter(({ minimumAmount, maximumAmount }) => {
      const digits = [minimumAmount, maximumAmount].every((amount) => /^[1-9][0-9]{0,18}$/.test(amount));
      return !digits || BigInt(minimumAmount) >= BigInt(maximumAmount) || BigInt(maximumAmount) > BIGINT_MAX;
    });

    expect(wrong).toEqual([]);
  });

  it('identifies the bank by its BIC if it pays out over SWIFT', () => {
    const swift = CORRIDORS.filter((corridor) => corridor.payoutMethod === 'SWIFT');

    expect(new Set(swift.map((corridor) => corridor.routingCodeType))).toEqual(new Set(['SWIFT']));
  });

  it('has terms that are marked as demo', () => {
    expect(demoReference().sandboxOnly).toBe(true);
    for (const { deliveryTAT } of CORRIDORS) expect(deliveryTAT).toMatch(/^T\+[0-9] \(demo\)$/);
  });

  it('has a fee below its minimum amount, but for euros over SEPA and local pounds', () => {
    const free = CORRIDORS.filter(({ fee }) => fee === undefined);

    expect(
      new Set(free.map(({ destinationCurrency, payoutMethod }) => `${destinationCurrency} ${payoutMethod}`)),
    ).toEqual(new Set(['EUR LOCAL', 'GBP LOCAL']));
    for (const { fee, minimumAmount } of CORRIDORS) {
      expect(BigInt(fee?.minimumAmount ?? '0')).toBeLessThan(BigInt(minimumAmount));
    }
  });
});

describe('the products and purposes', () => {
  it('are one product for each currency, under ids that never change', () => {
    const products = newProducts().products!;

    expect(new Set(products.map(({ currency }) => currency)).size).toBe(products.length);
    expect(products.map(({ id, currency }) => `${id} ${currency}`)).toEqual(
      expect.arrayContaining(['1 USD', '2 EUR', '4 JPY', '5 KWD', '16 AED']),
    );
  });

  it('are codes of one provider and of ISO 20022, on the list of all countries', () => {
    const codes = demoReference().purposes!;

    expect(codes.map(({ code }) => code)).toEqual(expect.arrayContaining(['IR001', 'IR002', 'IR003', 'SUPP', 'SALA']));
    expect(codes.filter(({ countries }) => countries !== undefined)).toEqual([]);
  });
});

describe('the ids of the corridors', () => {
  it('run from 1 without a gap or a repetition', () => {
    expect(CORRIDORS.map((corridor) => corridor.id)).toEqual(CORRIDORS.map((_, index) => index + 1));
  });

  it('differ in country, currency, method or beneficiary', () => {
    expect(new Set(CORRIDORS.map(keyOf)).size).toBe(CORRIDORS.length);
  });

  it.each([
    [1, 'IN INR LOCAL Individual'],
    [2, 'IN INR LOCAL Corporate'],
    [3, 'IN USD SWIFT Individual'],
    [10, 'PH PHP LOCAL Corporate'],
    [73, 'US USD LOCAL Individual'],
    [107, 'GB GBP LOCAL Individual'],
    [179, 'DE EUR LOCAL Individual'],
    [261, 'DE EUR SWIFT Individual'],
    [323, 'DE USD SWIFT Individual'],
    [333, 'KW KWD LOCAL Individual'],
    [392, 'UG USD SWIFT Corporate'],
  ])('are fixed: %i is %s', (id, key) => {
    expect(CORRIDORS.filter((corridor) => corridor.id === id).map(keyOf)).toEqual([key]);
  });
});

describe('the destinations', () => {
  it('are at least fifty, including the large countries and all of SEPA', () => {
    const expected = ['IN', 'GB', 'US', 'DE', 'BR', 'PH', 'JP', 'KW', ...SEPA_COUNTRIES];

    expect(destinations.size).toBeGreaterThanOrEqual(50);
    expect(expected.filter((country) => !destinations.has(country))).toEqual([]);
  });

  it('include each SEPA country in euros over SEPA and over SWIFT', () => {
    const missing = SEPA_COUNTRIES.filter((country) => {
      const euros = corridorsTo(country).filter((corridor) => corridor.destinationCurrency === 'EUR');
      return new Set(euros.map((corridor) => corridor.payoutMethod)).size !== 2;
    });

    expect(missing).toEqual([]);
  });

  it('include each kind of route and of beneficiary, open and closed', () => {
    expect(new Set(CORRIDORS.map((corridor) => corridor.payoutMethod)).size).toBe(2);
    expect(new Set(CORRIDORS.map((corridor) => corridor.beneficiaryAccountType)).size).toBe(2);
    expect(new Set(CORRIDORS.map((corridor) => corridor.enabled)).size).toBe(2);
    expect(CORRIDORS.filter((corridor) => !corridor.enabled).length).toBeLessThan(CORRIDORS.length / 10);
  });

  it('include India in rupees by IFSC from ten US dollars, for persons and companies', () => {
    const rupees = corridorsTo('IN').filter((corridor) => corridor.payoutMethod === 'LOCAL');

    const route = { routingCodeType: 'IFSC', limitCurrency: 'USD', minimumAmount: '1000', enabled: true };
    expect(rupees).toMatchObject([
      { ...route, destinationCurrency: 'INR', beneficiaryAccountType: 'Individual' },
      { ...route, destinationCurrency: 'INR', beneficiaryAccountType: 'Corporate' },
    ]);
  });

  it.each([
    ['GB', 'GBP', 'SORT CODE'],
    ['US', 'USD', 'ACH CODE'],
    ['AU', 'AUD', 'BSB CODE'],
    ['BR', 'BRL', 'BRANCH CODE'],
    ['HK', 'HKD', 'BANK CODE'],
    ['SG', 'SGD', 'BANK CODE'],
    ['JP', 'JPY', 'BANK CODE'],
    ['KW', 'KWD', 'SWIFT'],
    ['DE', 'EUR', 'SWIFT'],
  ])(
    'include %s in %s over a local route, with the bank identified by its %s',
    (country, currency, routingCodeType) => {
      const atHome = corridorsTo(country).filter(
        (corridor) => corridor.payoutMethod === 'LOCAL' && corridor.destinationCurrency === currency,
      );

      expect(new Set(atHome.map((corridor) => corridor.routingCodeType))).toEqual(new Set([routingCodeType]));
    },
  );

  it('do not include a country without corridors', () => {
    expect(corridorsTo('AQ')).toEqual([]);
  });
});

function keyOf(corridor: StatedCorridor): string {
  const { destinationCountry, destinationCurrency, payoutMethod, beneficiaryAccountType } = corridor;
  return `${destinationCountry} ${destinationCurrency} ${payoutMethod} ${beneficiaryAccountType}`;
}
