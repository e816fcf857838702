import {
  parseTransferAmount,
  Refusal,
  type Created,
  type FundAccountInput,
  type RequestOptions,
  type Transfer,
} from '@banking/domain';
import { decide, lockAndRead, preparePosting, requirePosted, type Books, type Proposal } from '@banking/ledger';
import { bind, sqlStatement } from '@banking/postgres';
import type { AuditedCall } from '../audit/audited-call.js';
import type { Reading } from '../resources/reading.js';
import { transferQuery } from '../transfers/get-transfer.js';
import { createOnce } from '../idempotency/create-once.js';

/** Needs no lock: the currency of an account never changes. */
const PREPARE_FUNDING = sqlStatement<{ currency_id: number }>(
  'prepare_funding',
  `select currency_id from account where workspace_id = $1 and id = $2 and kind = 'customer'`,
);

/** Money that arrives, with the description of its sender. */
export interface Funding extends FundAccountInput {
  readonly description?: string | undefined;
}

/**
 * Books money that has arrived: a credit of the account and a debit of settlement, completed at once, without fee or purpose.
 *
 * @throws Refusal `amount_malformed`, `amount_out_of_range`, `account_not_found`, `account_disabled`, `balance_limit_exceeded`, and
 *   those of `createOnce`
 */
export async function fundAccount(
  books: Books,
  reading: Reading,
  caller: AuditedCall,
  { accountId, amount: digits, description }: Funding,
  options: RequestOptions,
): Promise<Created<Transfer>> {
  const { workspaceId } = caller;
  const amount = parseTransferAmount(digits);
  if (amount === 0n) throw new Refusal('amount_malformed', 'The amount must be at least 1.');
  const prepared = await books.database.read(
    { workspaces: [workspaceId] },
    bind(PREPARE_FUNDING, workspaceId, accountId),
  );
  if (!prepared) throw new Refusal('account_not_found');

  const movement = { currencyId: prepared.currency_id, amount, type: 'funding' };
  const proposal: Proposal = {
    entries: [
      {
        workspaceId,
        status: 'completed',
        legs: [
          { ...movement, account: accountId, direction: 'credit', description },
          { ...movement, account: 'settlement', direction: 'debit' },
        ],
      },
    ],
  };
  const content = { amount: digits, ...(description !== undefined && { description }) };
  const request = { workspaceId, operation: `fundAccount/${accountId}`, content };
  const posting = await preparePosting(books, [proposal]);
  return createOnce(reading, request, options, caller, async (tx) => {
    const { context } = await lockAndRead(tx, posting);
    const posted = requirePosted(decide(context, proposal));
    const { id } = posted[0]!.transfers[0]!;
    return { posted, writes: [], audited: { type: 'transfer', id }, resource: transferQuery(workspaceId, id) };
  });
}
