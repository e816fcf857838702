import { randomInt } from 'node:crypto';
import {
  type Account,
  type AccountChange,
  type AccountId,
  type Created,
  type OpenAccountInput,
  type Page,
  type PageQuery,
  Refusal,
  type RequestOptions,
  type WorkspaceId,
  type PlainNumber,
} from '@banking/domain';
import { openAccount as openInBooks } from '@banking/ledger';
import { bind, DatabaseError, sqlStatement } from '@banking/postgres';
import { type AuditedCall, entriesOf } from '../audit/audited-call.js';
import { createOnce, findReplay } from '../idempotency/create-once.js';
import { listPage } from '../lists/list-page.js';
import { type PagedList, pageOfAll } from '../lists/paged-list.js';
import type { CurrencyElsewhere } from '../recipients/recipients.js';
import { ACCOUNT, ACCOUNT_PAGE, type AccountRow } from '../resources/compose-parties.js';
import { type Reading, readResource, type ResourceQuery, type RowFacts } from '../resources/reading.js';

const GET_ACCOUNT = sqlStatement<AccountRow>(
  'get_account',
  `select ${ACCOUNT.columns} from account t ${ACCOUNT.joins}
   where t.workspace_id = $1 and t.id = $2 and t.kind = 'customer'`,
);

const accountQuery = (workspaceId: number, accountId: number): ResourceQuery<AccountRow, Account> => ({
  bound: bind(GET_ACCOUNT, workspaceId, accountId),
  compose: ACCOUNT.compose,
});

/** @throws Refusal `account_not_found` also for an account of another workspace, and for an own account */
export async function getAccount(
  reading: Reading,
  workspaceId: WorkspaceId,
  accountId: AccountId | PlainNumber,
): Promise<Account> {
  return readResource(reading, workspaceId, accountQuery(workspaceId, accountId), 'account_not_found');
}

const ACCOUNTS: PagedList<RowFacts, Account> = {
  name: 'list_accounts',
  table: 'account',
  indexes: [{ where: `l.kind = 'customer'` }],
  classes: {},
  filters: {},
  page: pageOfAll,
  items: ACCOUNT_PAGE,
};

/** @throws Refusal `limit_invalid`, `cursor_invalid` */
export function listAccounts(
  reading: Reading,
  workspaceId: WorkspaceId,
  { limit, cursor }: PageQuery,
): Promise<Page<Account>> {
  return listPage(reading, ACCOUNTS, { workspaceId, limit, cursor, filters: {} });
}

const PREPARE_ACCOUNT = sqlStatement<{ id: bigint; currency_id: number; holder: string }>(
  'prepare_account',
  `select nextval('account_id_seq') as id, p.currency_id, w.name as holder
   from product p, workspace w where p.id = $1 and p.offered and w.id = $2`,
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
type NewAccountCode = (workspaceId: WorkspaceId) => string | Promise<string>;

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
  const { replay } = await findReplay<Account>(reading.database, requestOf(opener, input), options);
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
const CODE_CONSTRAINTS = ['account_of_code', 'account_code_pkey'];

function isCodeTaken(error: unknown): boolean {
  return error instanceof DatabaseError && CODE_CONSTRAINTS.includes(error.constraint ?? '');
}

/** Fields that are not given keep their value. A trigger writes the audit trail. */
const CHANGE_ACCOUNT = sqlStatement(
  'change_account',
  `with changed as (
     update account set alias = coalesce($3, alias), status = coalesce($4, status), updated_at = statement_timestamp()
     where workspace_id = $1 and id = $2 and kind = 'customer'
       and (alias, status) is distinct from (coalesce($3, alias), coalesce($4, status))
     returning id)
   insert into audit_outbox (workspace_id, entries) select $1, $5::jsonb from changed`,
);

/** @throws Refusal `account_not_found` */
export async function changeAccount(
  { database, reference }: Reading,
  caller: AuditedCall,
  { accountId, alias, status }: AccountChange,
): Promise<Account> {
  const { workspaceId, actor } = caller;
  const audited = { operation: 'changeAccount', resource: { type: 'account', id: accountId } };
  const scope = { workspaces: [workspaceId], ...(actor !== undefined && { user: actor }) };
  const composeChanged = await reference.beforeChange();
  const { bound, compose } = accountQuery(workspaceId, accountId);
  const [, [row]] = await database.write(scope, [
    bind(CHANGE_ACCOUNT, workspaceId, accountId, alias, status, entriesOf(caller, audited)),
    bound,
  ] as const);
  if (!row) throw new Refusal('account_not_found');
  return composeChanged((current) => compose(current, row));
}

/** With ten million accounts, a guessed code belongs to an account with a probability of 1 in ten million. */
const RANDOM_DIGITS = 14;

/**
 * A new account code: `BA`, two check digits and random digits, so that a code reveals nothing about another. Older codes contain the id
 * of the account in place of the random digits, and remain valid.
 *
 * The check digits are those of ISO 7064 MOD 97-10, placed and computed as in an IBAN (ISO 13616). They detect one wrong digit and two
 * transposed adjacent digits.
 */
export function newAccountCode(): string {
  return withCheckDigits(String(randomInt(10 ** RANDOM_DIGITS)).padStart(RANDOM_DIGITS, '0'));
}

function withCheckDigits(digits: string): string {
  // B counts as 11 and A as 10.
  const check = 98n - (BigInt(`${digits}111000`) % 97n);
  return `BA${String(check).padStart(2, '0')}${digits}`;
}

/** The codes of accounts over all databases of a deployment. */
export interface AccountCodes {
  readonly newCode: NewAccountCode;
  readonly currencyElsewhere?: CurrencyElsewhere;
}
