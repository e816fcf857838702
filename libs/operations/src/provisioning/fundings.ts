import { parseAmount, toTransferAmount, type AccountId, type Transfer, type WorkspaceId } from '@banking/domain';
import type { Books } from '@banking/ledger';
import { bind, type Database, scopesOf, sqlStatement } from '@banking/postgres';
import { fundAccount } from '../sandbox/fund-account.js';
import { openReading } from '../resources/reading.js';
import { type Operator, ProvisioningError } from './trail.js';
import { workspacesHere } from './workspaces.js';

/** The list of workspaces makes the index usable: the key begins with the workspace. */
const FIND_WORKSPACE = sqlStatement<{ workspace_id: bigint; currency: string }>(
  'find_workspace_of_account',
  `select a.workspace_id, c.code as currency from account a join currency c on c.id = a.currency_id
   where a.workspace_id = any($1::bigint[]) and a.id = $2 and a.kind = 'customer'`,
);

interface FundedAccount {
  readonly workspaceId: WorkspaceId;
  readonly workspace: string;
  readonly currency: string;
}

/** Finds an account of a customer in the workspaces that the database serves. @returns undefined if none has it */
export async function findAccount(database: Database, accountId: AccountId): Promise<FundedAccount | undefined> {
  const workspaces = await workspacesHere(database);
  for (const ids of scopesOf(workspaces.map(({ id }) => id))) {
    const account = await database.read({ workspaces: ids }, bind(FIND_WORKSPACE, ids, accountId));
    if (account === undefined) continue;
    const workspaceId = Number(account.workspace_id) as WorkspaceId;
    const workspace = workspaces.find(({ id }) => id === workspaceId)?.name ?? '';
    return { workspaceId, workspace, currency: account.currency };
  }
  return undefined;
}

export interface FundingRow {
  readonly workspaceId: number;
  readonly workspace: string;
  readonly currency: string;
  readonly transfer: Transfer;
  /** Whether an earlier call with the same key booked it. */
  readonly isReplay: boolean;
}

/**
 * Books money that has arrived, in a sandbox or with real money. Finds the workspace of the account.
 *
 * @param funding.amount as people write it, in the currency of the account: `1250.00`
 * @param funding.reference the sender's reference, stored as the description of the transfer
 * @param funding.operator for the audit trail
 * @param funding.key idempotency key: repeated calls with it book once
 * @throws ProvisioningError if the account does not exist, or the amount is not above zero
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
    readonly operator?: Operator | undefined;
  },
): Promise<FundingRow> {
  const { accountId, amount: text, reference: description, key: idempotencyKey, operator } = funding;
  const account = await findAccount(books.database, accountId);
  if (!account) throw new ProvisioningError(`There is no account ${accountId}.`);

  const { workspaceId, workspace, currency } = account;
  const amount = parseAmount(text, currency);
  if (amount <= 0n) throw new ProvisioningError('The amount must be more than zero. Money that left is no funding.');
  const { resource, isReplay } = await fundAccount(
    books,
    openReading(books.database),
    { workspaceId, actor: undefined, ...(operator && { origin: { operator } }) },
    { accountId, amount: toTransferAmount(amount), description },
    { idempotencyKey },
  );
  return { workspaceId, workspace, currency, transfer: resource, isReplay };
}
