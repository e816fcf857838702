import type { OperationText } from '../access/operation.decorator.js';
import { paragraphs } from '../http/paragraphs.js';

export const listPurposes: OperationText = {
  summary: 'List the purpose codes',
  description: paragraphs(
    'Lists the purpose codes that an order to another country can carry as `purposeCode`, each with its meaning.',
    'The payment network defines the codes and can add more.',
  ),
  provenance: 'known',
  refusals: [],
  hasETag: true,
};
