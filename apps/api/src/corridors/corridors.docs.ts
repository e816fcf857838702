import type { OperationText } from '../access/operation.decorator.js';
import { paragraphs } from '../http/paragraphs.js';

/** The path that links name, where the interface has two. */
export const CANONICAL = '/recipients/countries/{country}/corridors';

export const listCorridors: OperationText = {
  summary: 'List the corridors to a country',
  description: paragraphs(
    'Lists the corridors to a country: currency, payout method, type of beneficiary, limits and delivery time.',
    'The response is `[]` if the country has no corridor.',
    '',
    'Limits are in minor units of `edges.limitCurrency`, which can differ from the currency that arrives.',
  ),
  provenance: 'stated',
  statedParameters: ['country'],
  refusals: ['country_unknown'],
  hasETag: true,
};

export const listCorridorsFormerly: OperationText = { ...listCorridors, canonical: CANONICAL };

export const COUNTRY = {
  name: 'country',
  description: 'ISO 3166-1 alpha-2 in any case; alpha-3 is accepted too.',
  schema: { type: 'string' as const, pattern: '^[A-Za-z]{2,3}$' },
};
