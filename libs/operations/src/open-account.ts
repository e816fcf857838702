import {
  Refusal,
  type Account,
  type AccountWish,
  type Created,
  type Intent,
  type UserId,
  type WorkspaceId,
} from '@banking/domain';
import { openAccount as openInBooks } from '@banking/ledger';
import { bind, DatabaseError, statement, type Database } from '@banking/postgres';
import { newAccountCode } from './account-code.js';
import { accountRead } from './get-account.js';
import { makeOnce } from './idempotency.js';

const PREPARE_ACCOUNT = statement<{ id: bigint; currency_id: number; holder: string }>(
  'prepare_account',
  `select nextval('account_id_seq') as id, p.currency_id, w.name as holder
   from product p, workspace w where p.id = $1 and w.id = $2`,
);
const LIST_CODE = statement(
  'list_opened_account_code',
  'insert into account_code (code, workspace_id, account_id, currency_id) values ($1, $2, $3, $4)',
);

/** ISO 20022 cash account type of what our products are: current accounts. */
const TYPE = 'CACC';

/** A random code is almost never taken. Three taken codes in a row mean that the source of randomness is broken. */
const CODE_TRIES = 3;

interface Opener {
  readonly workspaceId: WorkspaceId;
  readonly actor: UserId | undefined;
}

/**
 * Opens an account under a new random code, and under another one if that code is taken.
 *
 * @throws Refusal `product_not_found`, and those of `makeOnce`
 */
export async function openAccount(
  database: Database,
  opener: Opener,
  wish: AccountWish,
  intent: Intent,
  newCode: () => string = newAccountCode,
): Promise<Created<Account>> {
  for (let triesLeft = CODE_TRIES - 1; ; triesLeft -= 1) {
    try {
      return await openUnder(newCode(), database, opener, wish, intent);
    } catch (error) {
      if (triesLeft === 0 || !isCodeTaken(error)) throw error;
    }
  }
}

function openUnder(
  code: string,
  database: Database,
  { workspaceId, actor }: Opener,
  { productID, alias }: AccountWish,
  intent: Intent,
): Promise<Created<Account>> {
  const content = { productID, ...(alias !== undefined && { alias }) };
  return makeOnce(database, { workspaceId, operation: 'openAccount', content }, intent, actor, async (tx) => {
    const [[prepared]] = await tx.flight([bind(PREPARE_ACCOUNT, productID, workspaceId)] as const);
    if (!prepared) throw new Refusal('product_not_found');
    const id = Number(prepared.id);
    const account = { workspaceId, id, productId: productID, currencyId: prepared.currency_id, name: prepared.holder };
    return {
      writes: [
        openInBooks({ ...account, ...(alias !== undefined && { alias }), type: TYPE, code }),
        bind(LIST_CODE, code, workspaceId, id, prepared.currency_id),
      ],
      answer: accountRead(workspaceId, id),
    };
  });
}

/** Codes are unique within a workspace and over all workspaces. */
const CODE_CONSTRAINTS = ['account_workspace_id_code_key', 'account_code_pkey'];

function isCodeTaken(error: unknown): boolean {
  return error instanceof DatabaseError && CODE_CONSTRAINTS.includes(error.constraint ?? '');
}
