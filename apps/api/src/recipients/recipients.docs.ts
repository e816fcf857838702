import type { OperationText } from '../access/operation.decorator.js';
import { paragraphs } from '../http/paragraphs.js';

export const RECIPIENT_ID = ['recipientId', 'A recipient of the workspace.'] as const;

export const listRecipients: OperationText = {
  summary: 'List recipients',
  description: 'Lists the recipients of the workspace, newest first, without deleted ones.',
  provenance: 'ours',
  refusals: ['parameter_invalid'],
  isPaged: true,
};

export const addInternationalRecipient: OperationText = {
  summary: 'Add a recipient abroad',
  description: paragraphs(
    'Stores a recipient that is paid over a corridor.',
    'The service checks `data` against the schemas that `GET /recipients/validation-schema` returns for the same query, and checks check digits.',
    '`details` of a refusal names each invalid field, with its rule and an example. The service stores `data` unchanged.',
    '',
    'The recipient shows `beneficiaryName` as its name and `beneficiaryAccountNumber` as its account code.',
    'It shows the bank if the service knows its routing code.',
  ),
  provenance: 'ours',
  hasQuery: true,
  refusals: ['parameter_invalid', 'corridor_not_found', 'recipient_invalid'],
  body: 'creates',
};

export const addInternalRecipient: OperationText = {
  summary: 'Add an account of this service as a recipient',
  description: paragraphs(
    'Stores an account of this or another workspace as a recipient, by its `code`.',
    'For an account of another workspace, the response confirms only that the code exists.',
    'The recipient shows the name you give, else the alias, else the code.',
  ),
  provenance: 'ours',
  refusals: ['recipient_invalid'],
  body: 'creates',
};

export const getRecipient: OperationText = {
  summary: 'Retrieve a recipient',
  description: 'Returns one recipient with bank and beneficiary. A deleted recipient is not found.',
  provenance: 'ours',
  refusals: ['id_malformed', 'recipient_not_found'],
};

export const changeRecipient: OperationText = {
  summary: 'Rename a recipient, or change whether it is saved',
  description: paragraphs(
    'Changes the alias of a recipient or its `saved` flag. Omitted fields stay unchanged.',
    'The payee and the account cannot change: add another recipient instead.',
  ),
  provenance: 'ours',
  refusals: ['id_malformed', 'recipient_not_found'],
  body: 'changes',
};

export const deleteRecipient: OperationText = {
  summary: 'Delete a recipient',
  description: paragraphs(
    'Removes a recipient from the list permanently. Past transfers keep it.',
    'A second deletion fails with 404, so after a lost response a 404 means that the recipient is deleted.',
  ),
  provenance: 'ours',
  refusals: ['id_malformed', 'recipient_not_found'],
};
