import {
  parseTransferAmount,
  Refusal,
  type Created,
  type FundingWish,
  type Intent,
  type Transfer,
  type UserId,
  type WorkspaceId,
} from '@banking/domain';
import type { Books, Proposal } from '@banking/ledger';
import { bind, statement } from '@banking/postgres';
import { transferRead } from './get-transfer.js';
import { postOnce } from './idempotency.js';

/** Neither changes under a lock: an account keeps its currency, and the day is the database's. */
const PREPARE_FUNDING = statement<{ currency_id: number; today: string }>(
  'prepare_funding',
  `select currency_id, (statement_timestamp() at time zone 'UTC')::date as today
   from account where workspace_id = $1 and id = $2 and kind = 'customer'`,
);

/** What has arrived, and the words its sender gave it. */
export interface Funding extends FundingWish {
  readonly description?: string | undefined;
}

/**
 * Books money that has arrived: a credit of the account, a debit of settlement, completed at once, without fee or purpose.
 *
 * @throws Refusal `amount_malformed`, `amount_out_of_range`, `account_not_found`, `account_disabled`, `balance_limit_exceeded`, and
 *   those of `postOnce`
 */
export async function fundAccount(
  books: Books,
  { workspaceId, actor }: { readonly workspaceId: WorkspaceId; readonly actor: UserId | undefined },
  { accountId, amount: digits, description }: Funding,
  intent: Intent,
): Promise<Created<Transfer>> {
  const amount = parseTransferAmount(digits);
  if (amount === 0n) throw new Refusal('amount_malformed', 'The amount must be at least 1.');
  const prepared = await books.database.read({ workspaces: [workspaceId] }, bind(PREPARE_FUNDING, workspaceId, accountId)); // prettier-ignore
  if (!prepared) throw new Refusal('account_not_found');

  const movement = { currencyId: prepared.currency_id, amount, type: 'funding' };
  const proposal: Proposal = {
    entries: [
      {
        workspaceId,
        status: 'completed',
        valueDate: prepared.today,
        legs: [
          { ...movement, account: accountId, direction: 'credit', description },
          { ...movement, account: 'settlement', direction: 'debit' },
        ],
      },
    ],
  };
  const content = { amount: digits, ...(description !== undefined && { description }) };
  const request = { workspaceId, operation: `fundAccount/${accountId}`, content };
  return postOnce(books, request, intent, actor, proposal, ([posted]) => ({
    writes: [],
    answer: transferRead(workspaceId, posted!.transfers[0]!.id),
  }));
}
