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
import { bind, statement, type Database } from '@banking/postgres';
import { accountCode } from './account-code.js';
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

/** @throws Refusal `product_not_found`, and those of `makeOnce` */
export function openAccount(
  database: Database,
  { workspaceId, actor }: { readonly workspaceId: WorkspaceId; readonly actor: UserId | undefined },
  { productID, alias }: AccountWish,
  intent: Intent,
): Promise<Created<Account>> {
  const content = { productID, ...(alias !== undefined && { alias }) };
  return makeOnce(database, { workspaceId, operation: 'openAccount', content }, intent, actor, async (tx) => {
    const [[prepared]] = await tx.flight([bind(PREPARE_ACCOUNT, productID, workspaceId)] as const);
    if (!prepared) throw new Refusal('product_not_found');
    const id = Number(prepared.id);
    const account = { workspaceId, id, productId: productID, currencyId: prepared.currency_id, name: prepared.holder };
    const code = accountCode(id);
    return {
      writes: [
        openInBooks({ ...account, ...(alias !== undefined && { alias }), type: TYPE, code }),
        bind(LIST_CODE, code, workspaceId, id, prepared.currency_id),
      ],
      answer: accountRead(workspaceId, id),
    };
  });
}
