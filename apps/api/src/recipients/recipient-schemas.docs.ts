import type { OperationText } from '../access/operation.decorator.js';
import { paragraphs } from '../http/paragraphs.js';

/** The path that links name, where the interface has two. */
export const CANONICAL = '/recipients/validation-schema';

export const listRecipientSchemas: OperationText = {
  summary: 'List the recipient schemas of a corridor',
  description: paragraphs(
    'Returns the JSON Schemas (2020-12) for `data` of an international recipient: one for each accepted set of fields, persons before companies.',
    'The schemas compile in Ajv with `strict: true` without a plug-in.',
    '',
    '`POST /recipients/international` checks `data` against these schemas, and checks check digits, which a schema cannot express.',
    'Show `title`, `description` and `examples` of a field to the user who fills it in.',
    'A corridor that is disabled has schemas too.',
  ),
  provenance: 'stated',
  hasQuery: true,
  refusals: ['parameter_invalid', 'corridor_not_found'],
  hasETag: true,
};

export const listRecipientSchemasFormerly: OperationText = { ...listRecipientSchemas, canonical: CANONICAL };
