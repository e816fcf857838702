import * as fc from 'fast-check';
import type { RailConfig, Served } from './rail-config.js';
import { Rails } from './rails.js';

const COUNTRIES = ['DE', 'IN', 'US'];
const CURRENCIES = ['EUR', 'INR', 'USD'];
const METHODS = ['LOCAL', 'SWIFT'];

const destination = fc.record({
  country: fc.constantFrom(...COUNTRIES),
  currency: fc.constantFrom(...CURRENCIES),
  payoutMethod: fc.constantFrom(...METHODS),
});

const someOf = (values: readonly string[]) => fc.subarray([...values], { minLength: 1 });

const served: fc.Arbitrary<Served> = fc.record(
  { payoutMethod: fc.constantFrom(...METHODS), countries: someOf(COUNTRIES), currencies: someOf(CURRENCIES) },
  { requiredKeys: [] },
);

const account = (currency: string) => ({ currency, id: '1', isIban: false, bic: 'COBADEFF', holder: 'Harbour' });

const rail = (name: string): fc.Arbitrary<RailConfig> =>
  fc.oneof(
    fc.record({
      name: fc.constant(name),
      kind: fc.constant('sandbox' as const),
      serves: fc.option(fc.array(served), { nil: undefined }),
    }),
    fc.record({
      ...{
        name: fc.constant(name),
        kind: fc.constant('http' as const),
        url: fc.constant(''),
        tokenFile: fc.constant(''),
        isTestMode: fc.boolean(),
      },
      serves: fc.option(fc.array(served), { nil: undefined }),
      accounts: fc.subarray(CURRENCIES).map((currencies) => currencies.map(account)),
    }),
    fc.record({
      ...{ name: fc.constant(name), kind: fc.constant('iso20022' as const) },
      ...{ folder: fc.constant('/bank'), isTestMode: fc.boolean() },
      serves: fc.option(fc.array(served), { nil: undefined }),
      accounts: fc.subarray(CURRENCIES).map((currencies) => currencies.map(account)),
    }),
  );

const rails = fc
  .array(fc.nat(), { maxLength: 4 })
  .chain((list) => fc.tuple(...list.map((_, index) => rail(`rail-${index}`))));

describe('the network of a payout', () => {
  it('is the first that serves it by itself', () => {
    fc.assert(
      fc.property(rails, destination, (configured, to) => {
        const first = configured.find((one) => new Rails([one]).railFor(to) !== undefined);
        expect(new Rails(configured).railFor(to)).toBe(first?.name);
      }),
    );
  });

  it('has an account in the currency, and an entry that agrees with country, currency and method', () => {
    fc.assert(
      fc.property(rails, destination, (configured, to) => {
        const chosen = configured.find(({ name }) => name === new Rails(configured).railFor(to));
        if (!chosen) return;
        if (chosen.kind !== 'sandbox') expect(chosen.accounts.map(({ currency }) => currency)).toContain(to.currency);
        const agrees = ({ payoutMethod, countries, currencies }: Served) =>
          [to.payoutMethod, undefined].includes(payoutMethod) &&
          (countries === undefined || countries.includes(to.country)) &&
          (currencies === undefined || currencies.includes(to.currency));
        expect((chosen.serves ?? [{}]).some(agrees)).toBe(true);
      }),
    );
  });

  it('requires a town over SWIFT if it has files', () => {
    fc.assert(
      fc.property(rails, destination, (configured, to) => {
        const chosen = configured.find(({ name }) => name === new Rails(configured).railFor(to));
        const kind: string | undefined = chosen?.kind;
        const isDemanding = kind === 'iso20022' && to.payoutMethod === 'SWIFT';
        expect(new Rails(configured).needsPostalAddress(to)).toBe(isDemanding);
      }),
    );
  });

  it.each([
    ['Ravi Menon', undefined],
    ['中国公司', 'The name of the recipient cannot be written in Latin letters. Write it so.'],
  ])('says why it cannot carry a payment to %s if it has files', (name, fault) => {
    const to = { country: 'DE', currency: 'EUR', payoutMethod: 'SWIFT' };
    const creditor = { name, account: 'DE75512108001245126199', routing: { type: 'SWIFT', code: 'SOGEDEFF' } };
    const ofKind = (kind: RailConfig['kind']) =>
      ({ ...{ name: 'bank-a', kind, folder: '/bank', isTestMode: true }, accounts: [account('EUR')] }) as RailConfig;

    expect(new Rails([ofKind('iso20022')]).faultOf(to, creditor)).toBe(fault);
    expect(new Rails([ofKind('http')]).faultOf(to, creditor)).toBeUndefined();
    expect(new Rails([]).faultOf(to, creditor)).toBeUndefined();
  });

  it('stays the same when a network is added at the end of the list', () => {
    fc.assert(
      fc.property(rails, rail('last'), destination, (configured, last, to) => {
        const before = new Rails(configured).railFor(to);
        if (before !== undefined) expect(new Rails([...configured, last]).railFor(to)).toBe(before);
      }),
    );
  });
});
