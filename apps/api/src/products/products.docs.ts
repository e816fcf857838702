import type { OperationText } from '../access/operation.decorator.js';

export const listProducts: OperationText = {
  summary: 'List the banking products',
  description:
    'Lists the products that an account can be opened from, one for each currency. `decimals` says how to read its amounts.',
  provenance: 'stated',
  refusals: [],
  hasETag: true,
};
