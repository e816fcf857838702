import type { OperationText } from '../access/operation.decorator.js';
import { paragraphs } from '../http/paragraphs.js';

export const TRANSACTION_ID = [
  'transactionId',
  'A transaction of the workspace. The response is the same for a transaction of another workspace and one that does not exist.',
] as const;

export const getTransaction: OperationText = {
  summary: 'Retrieve a transaction',
  description: paragraphs(
    'Returns one transaction with its transfers on accounts of the workspace, including the fee, and the tracking events of a payment abroad.',
    'Events, orders and transfers name the transaction by this id, and so do `returnOf` and `returnedBy` of another transaction.',
    '',
    'A payment has arrived when its transaction is `completed`. Read it again while it is `pending`.',
    '`failed` is final: `returnedBy` is the transaction that brought the money back.',
    'A gateway whose upstream does not have this operation responds with 404 `route_not_found`.',
  ),
  provenance: 'ours',
  refusals: ['id_malformed', 'transaction_not_found'],
};
