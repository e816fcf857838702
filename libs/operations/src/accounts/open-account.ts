import {
  Refusal,
  type Account,
  type OpenAccountInput,
  type Created,
  type RequestOptions,
  type WorkspaceId,
} from '@banking/domain';
import { openAccount as openInBooks } from '@banking/ledger';
import { bind, DatabaseError, sqlStatement } from '@banking/postgres';
import type { AuditedCall } from '../audit/audited-call.js';
import type { Reading } from '../resources/reading.js';
import { accountQuery } from './get-account.js';
import { createOnce, findReplay } from '../idempotency/create-once.js';

const PREPARE_ACCOUNT = sqlStatement<{ id: bigint; currency_id: number; holder: string }>(
  'prepare_account',
  `select nextval('account_id_seq') as id, p.currency_id, w.name as holder
   from product p, workspace w where p.id = $1 and w.id = $2`,
);
const LIST_CODE = sqlStatement(
  'list_opened_account_code',
  'insert into account_code (code, workspace_id, account_id, currency_id) values ($1, $2, $3, $4)',
);

/** The ISO 20022 cash account type of a current account. All products are current accounts. */
const TYPE = 'CACC';

/** A random code is almost never in use. Three in a row mean that the random source is broken. */
const CODE_TRIES = 3;

/** Makes a code that no account has. Several databases need a round trip to the one that has all codes. */
export type NewAccountCode = (workspaceId: WorkspaceId) => string | Promise<string>;

/**
 * Opens an account under a new code, and under another code if that one is in use.
 *
 * @throws Refusal `product_unavailable`, and those of `createOnce`
 */
export async function openAccount(
  reading: Reading,
  opener: AuditedCall,
  input: OpenAccountInput,
  options: RequestOptions,
  newCode: NewAccountCode,
): Promise<Created<Account>> {
  // A repeated request needs no code: it does not depend on the database that has all codes.
  const replay = await findReplay<Account>(reading.database, requestOf(opener, input), options);
  if (replay) return replay;
  for (let triesLeft = CODE_TRIES - 1; ; triesLeft -= 1) {
    try {
      return await openUnder(await newCode(opener.workspaceId), reading, opener, input, options);
    } catch (error) {
      if (triesLeft === 0 || !isCodeTaken(error)) throw error;
    }
  }
}

const requestOf = ({ workspaceId }: AuditedCall, { productID, alias }: OpenAccountInput) => ({
  workspaceId,
  operation: 'openAccount',
  content: { productID, ...(alias !== undefined && { alias }) },
});

function openUnder(
  code: string,
  reading: Reading,
  caller: AuditedCall,
  input: OpenAccountInput,
  options: RequestOptions,
): Promise<Created<Account>> {
  const { workspaceId } = caller;
  const { productID, alias } = input;
  return createOnce(reading, requestOf(caller, input), options, caller, async (tx) => {
    const [[prepared]] = await tx.pipeline([bind(PREPARE_ACCOUNT, productID, workspaceId)] as const);
    if (!prepared) throw new Refusal('product_unavailable');
    const id = Number(prepared.id);
    const account = { workspaceId, id, productId: productID, currencyId: prepared.currency_id, name: prepared.holder };
    return {
      writes: [
        openInBooks({ ...account, ...(alias !== undefined && { alias }), type: TYPE, code }),
        bind(LIST_CODE, code, workspaceId, id, prepared.currency_id),
      ],
      audited: { type: 'account', id },
      resource: accountQuery(workspaceId, id),
    };
  });
}

/** Codes are unique within a workspace and over all workspaces. */
const CODE_CONSTRAINTS = ['account_workspace_id_code_key', 'account_code_pkey'];

function isCodeTaken(error: unknown): boolean {
  return error instanceof DatabaseError && CODE_CONSTRAINTS.includes(error.constraint ?? '');
}
