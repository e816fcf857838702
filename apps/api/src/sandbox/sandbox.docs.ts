import type { OperationText } from '../access/operation.decorator.js';
import { paragraphs } from '../http/paragraphs.js';

export const ACCOUNT_ID = ['accountId', 'An account of the workspace.'] as const;
export const TRANSACTION_ID = [
  'transactionId',
  'A transaction of the workspace that pays a recipient at another institution.',
] as const;

const SANDBOX_ONLY =
  '**Sandbox only:** a deployment with real money responds with 404 `route_not_found`, and its document omits this operation.';

export const fundAccount: OperationText = {
  summary: 'Fund an account',
  description: paragraphs(
    'Books money that arrives from outside: a transfer of type `funding`, completed at once, without a fee and without a purpose.',
    '',
    SANDBOX_ONLY,
  ),
  provenance: 'ours',
  refusals: [
    'id_malformed',
    'amount_malformed',
    'amount_out_of_range',
    'account_not_found',
    'account_disabled',
    'balance_limit_exceeded',
  ],
  body: 'creates',
};

export const addTransactionEvent: OperationText = {
  summary: 'Add a tracking event',
  description: paragraphs(
    'Records a tracking event of a payment abroad, as if the network had sent it now, and applies it.',
    '`ACCC` completes the transaction. `RJCT` fails it, and the full amount returns in a new transaction.',
    'The response is the updated transaction, and `Location` is its path.',
    'An event of a completed or failed transaction is recorded without effect.',
    '',
    SANDBOX_ONLY,
  ),
  provenance: 'ours',
  refusals: ['id_malformed', 'transaction_not_found', 'balance_limit_exceeded'],
  body: 'creates',
};

export const moveClock: OperationText = {
  summary: 'Move the clock',
  description: paragraphs(
    'Moves the time by which the orders of the workspace run. The clock moves forward only, and other workspaces keep theirs.',
    'Executions that are due by then run at once, and the missed runs of a recurring order run once.',
    'New orders must start after that time. The clock stands still until the real time is later.',
    '',
    'The real time still applies to everything else: the expiry of quotes and of an `Idempotency-Key`,',
    'the events of the network, and the times and value dates of bookings.',
    '',
    SANDBOX_ONLY,
  ),
  provenance: 'ours',
  refusals: ['timestamp_invalid', 'clock_invalid'],
  body: 'changes',
};
