import { parseAmount, toTransferAmount, type AccountId, type Transfer, type WorkspaceId } from '@banking/domain'; // prettier-ignore
import type { Books } from '@banking/ledger';
import { bind, statement } from '@banking/postgres';
import { fundAccount } from '../fund-account.js';
import { ProvisioningError } from './trail.js';
import { allWorkspaces } from './workspaces.js';

/** The list of workspaces leads to the row; the id alone would have to look at all of them. */
const FIND_WORKSPACE = statement<{ workspace_id: bigint; currency: string }>(
  'find_workspace_of_account',
  `select a.workspace_id, c.code as currency from account a join currency c on c.id = a.currency_id
   where a.workspace_id = any($1::bigint[]) and a.id = $2 and a.kind = 'customer'`,
);

export interface FundingRow {
  readonly workspaceId: number;
  readonly workspace: string;
  readonly currency: string;
  readonly transfer: Transfer;
  /** Whether an earlier run with the same key booked it. */
  readonly isReplay: boolean;
}

/**
 * Books money that has arrived, in any deployment. The account is found in whatever workspace it lies.
 *
 * @param funding.amount as people write it, in the currency of the account: `1250.00`
 * @param funding.reference what its sender wrote, kept as the description of the transfer
 * @param funding.key names what is meant, so that it is booked once however often it is run
 * @throws ProvisioningError when there is no such account, or the amount is not more than zero
 * @throws Refusal `amount_malformed`, `amount_too_precise`, `amount_out_of_range`, `account_disabled`, `balance_limit_exceeded`, and
 *   those of the key
 */
export async function addFunding(
  books: Books,
  funding: {
    readonly accountId: AccountId;
    readonly amount: string;
    readonly reference?: string | undefined;
    readonly key?: string | undefined;
  },
): Promise<FundingRow> {
  const { accountId, amount: text, reference: description, key: idempotencyKey } = funding;
  const workspaces = await allWorkspaces(books.database);
  const ids = workspaces.map(({ id }) => id);
  const found = await books.database.read({ workspaces: ids }, bind(FIND_WORKSPACE, ids, accountId));
  if (!found) throw new ProvisioningError(`There is no account ${accountId}.`);

  const amount = parseAmount(text, found.currency);
  if (amount <= 0n) throw new ProvisioningError('The amount must be more than zero. Money that left is no funding.');
  const workspaceId = Number(found.workspace_id) as WorkspaceId;
  const { resource, isReplay } = await fundAccount(
    books,
    { workspaceId, actor: undefined },
    { accountId, amount: toTransferAmount(amount), description },
    { idempotencyKey },
  );
  const workspace = workspaces.find(({ id }) => id === workspaceId)?.name ?? '';
  return { workspaceId, workspace, currency: found.currency, transfer: resource, isReplay };
}
