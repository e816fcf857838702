import type { ProductId } from '../ids.js';
import type { Timestamp } from '../timestamp.js';
import type { Currency } from './currency.js';

/** A banking product of one currency. Accounts are opened for a product. */
export interface Product {
  readonly id: ProductId;
  readonly name: string;
  readonly description?: string;
  readonly createdAt?: Timestamp;
  readonly updatedAt?: Timestamp;
  readonly edges: {
    readonly currency: Currency;
  };
}
