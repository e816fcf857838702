import { currencyOf } from '@banking/domain';
import { PRODUCTS } from './products.js';

describe('the products', () => {
  it('are at least fourteen, one for each currency', () => {
    const currencies = new Set(PRODUCTS.map((product) => product.currencyCode));

    expect(PRODUCTS.length).toBeGreaterThanOrEqual(14);
    expect(currencies.size).toBe(PRODUCTS.length);
  });

  it('have known currencies only', () => {
    for (const { currencyCode } of PRODUCTS) expect(currencyOf(currencyCode)).toMatchObject({ code: currencyCode });
  });

  it('have fixed ids, because accounts refer to them', () => {
    const pinned = PRODUCTS.slice(0, 16).map(({ id, currencyCode }) => `${id} ${currencyCode}`);

    expect(pinned.join(', ')).toBe(
      '1 USD, 2 EUR, 3 GBP, 4 JPY, 5 KWD, 6 CHF, 7 AUD, 8 CAD, 9 SGD, 10 HKD, 11 INR, 12 BRL, 13 SEK, 14 NOK, 15 PLN, 16 AED',
    );
    expect(new Set(PRODUCTS.map((product) => product.id)).size).toBe(PRODUCTS.length);
  });
});
