import type { OperationText } from '../access/operation.decorator.js';
import { paragraphs } from '../http/paragraphs.js';

export const TRANSFER_ID = [
  'transferId',
  'A transfer of the workspace. The response is the same for a transfer of another workspace and one that does not exist.',
] as const;

export const listTransfers: OperationText = {
  summary: 'List transfers',
  description: paragraphs(
    'Lists the transfers of the workspace, newest first, each with all its fields.',
    'A transfer is listed if it matches all filters.',
  ),
  provenance: 'stated',
  refusals: ['parameter_invalid', 'id_malformed', 'timestamp_invalid', 'account_not_found', 'recipient_not_found'],
  isPaged: true,
};

export const getTransfer: OperationText = {
  summary: 'Retrieve a transfer',
  description: paragraphs(
    'Returns one movement of money on one account, with the balance after it, the recipient, and the transaction that executed it.',
    'The transaction shows its other transfers, including the fee, and the tracking events of a payment abroad.',
    '',
    'A payment has arrived when its transaction is `completed`. Read the transfer again while the transaction is `pending`.',
    '`failed` is final: the amount returned as a credit of type `return`, in a transaction of its own.',
  ),
  provenance: 'stated',
  statedParameters: ['transferId', 'Workspace-ID'],
  refusals: ['id_malformed', 'transfer_not_found'],
};
