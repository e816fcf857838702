import type { CurrencyCode } from '@banking/domain';
import type { Source } from './source.js';

/** A product that accounts are opened for: one per currency. */
export interface ProductEntry {
  /** A literal, never computed, because accounts refer to it permanently. A new product takes the next number. */
  readonly id: number;
  readonly name: string;
  readonly description: string;
  readonly currencyCode: CurrencyCode;
}

/** One product for each currency, without terms. A bank that runs this service may change the rows of the database. */
export const PRODUCTS_SOURCE: Source = { name: 'Catalogue of this project', date: '2026-11-21', kind: 'ours' };

export const PRODUCTS: readonly ProductEntry[] = [
  product(1, 'USD', 'US dollars'),
  product(2, 'EUR', 'euros'),
  product(3, 'GBP', 'pounds sterling'),
  product(4, 'JPY', 'Japanese yen'),
  product(5, 'KWD', 'Kuwaiti dinars'),
  product(6, 'CHF', 'Swiss francs'),
  product(7, 'AUD', 'Australian dollars'),
  product(8, 'CAD', 'Canadian dollars'),
  product(9, 'SGD', 'Singapore dollars'),
  product(10, 'HKD', 'Hong Kong dollars'),
  product(11, 'INR', 'Indian rupees'),
  product(12, 'BRL', 'Brazilian reais'),
  product(13, 'SEK', 'Swedish kronor'),
  product(14, 'NOK', 'Norwegian kroner'),
  product(15, 'PLN', 'Polish zloty'),
  product(16, 'AED', 'UAE dirhams'),
];

function product(id: number, currencyCode: CurrencyCode, plural: string): ProductEntry {
  return {
    id,
    name: `${currencyCode} current account`,
    description: `A current account that holds ${plural} and pays out at home and abroad.`,
    currencyCode,
  };
}
