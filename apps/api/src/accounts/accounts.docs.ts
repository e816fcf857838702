import type { OperationText } from '../access/operation.decorator.js';
import { paragraphs } from '../http/paragraphs.js';

export const ACCOUNT_ID = ['accountId', 'An account of the workspace.'] as const;

export const listAccounts: OperationText = {
  summary: 'List accounts',
  description: 'Lists the accounts of the workspace, newest first, each with its balance.',
  provenance: 'ours',
  refusals: [],
  isPaged: true,
};

export const getAccount: OperationText = {
  summary: 'Retrieve an account',
  description: paragraphs(
    'Returns one account with its latest balance.',
    'The whole balance can be spent: a payment in progress has already left it.',
  ),
  provenance: 'ours',
  refusals: ['id_malformed', 'account_not_found'],
};

export const openAccount: OperationText = {
  summary: 'Open an account',
  description: paragraphs(
    'Opens an account from a product, in the currency of the product, with a balance of zero.',
    'Other workspaces pay to its `code`.',
  ),
  provenance: 'ours',
  refusals: ['product_unavailable'],
  body: 'creates',
};

export const changeAccount: OperationText = {
  summary: 'Rename, disable or enable an account',
  description: paragraphs(
    'Changes the alias of an account, disables it, or enables it again. Omitted fields stay unchanged.',
    'The service records who changed what, and when.',
  ),
  provenance: 'ours',
  refusals: ['id_malformed', 'account_not_found'],
  body: 'changes',
};
