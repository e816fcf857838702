import { openAccount, type Books } from '@banking/ledger';
import { bind, statement } from '@banking/postgres';
import { currencyId } from '../load-reference.js';
import { madeBefore, note } from './world.js';

const NEXT_ACCOUNT = statement<{ id: bigint; product_id: bigint }>(
  'next_account',
  `select nextval('account_id_seq') as id, p.id as product_id from product p where p.currency_id = $1 order by p.id limit 1`,
);
const LIST_CODE = statement(
  'list_account_code',
  'insert into account_code (code, workspace_id, account_id, currency_id) values ($1, $2, $3, $4)',
);
const ADD_RECIPIENT = statement(
  'add_recipient',
  `insert into recipient (workspace_id, id, kind, name, account_code, alias, currency_id, bank_id)
   select $1, $2, $3, $4, $5, $6, $7, (select b.id from bank b where b.swift_code = $8)`,
);
const NEXT_RECIPIENT = statement<{ id: bigint }>('next_recipient', `select nextval('recipient_id_seq') as id`);
const ADD_BENEFICIARY = statement(
  'add_beneficiary',
  'insert into beneficiary (workspace_id, recipient_id, data) values ($1, $2, $3::jsonb)',
);

export interface DemoAccount {
  readonly workspaceId: number;
  readonly id: number;
  readonly currencyId: number;
  readonly code: string;
}

/** Opens an account once. Its code is made of its id, so that it is known again after a start cut short. */
export async function demoAccount(
  books: Books,
  step: string,
  account: { workspaceId: number; currency: string; name: string; alias: string },
): Promise<DemoAccount> {
  const { workspaceId, currency, name, alias } = account;
  const held = { workspaceId, currencyId: currencyId(currency) };
  const before = await madeBefore(books.database, step);
  if (before !== undefined) return { ...held, id: before, code: codeOf(before) };

  return books.database.transaction({ workspaces: [workspaceId] }, async (tx) => {
    const [[next]] = await tx.flight([bind(NEXT_ACCOUNT, held.currencyId)] as const);
    const id = Number(next!.id);
    const code = codeOf(id);
    await tx.commit([
      openAccount({ ...held, id, productId: Number(next!.product_id), name, alias, type: 'CACC', code }),
      bind(LIST_CODE, code, workspaceId, id, held.currencyId),
      note(step, id),
    ]);
    return { ...held, id, code };
  });
}

const codeOf = (accountId: number) => `NW${String(accountId).padStart(10, '0')}`;

export interface DemoRecipient {
  readonly workspaceId: number;
  readonly name: string;
  readonly alias: string;
  readonly accountCode: string;
  readonly currency: string;
  /** Left out for an account of our own house. */
  readonly abroad?: { readonly swiftCode: string; readonly data: Readonly<Record<string, string>> };
}

export async function demoRecipient(books: Books, step: string, recipient: DemoRecipient): Promise<number> {
  const { workspaceId, name, alias, accountCode, currency, abroad } = recipient;
  const before = await madeBefore(books.database, step);
  if (before !== undefined) return before;

  return books.database.transaction({ workspaces: [workspaceId] }, async (tx) => {
    const [[next]] = await tx.flight([bind(NEXT_RECIPIENT)] as const);
    const id = Number(next!.id);
    const kind = abroad ? 'international' : 'internal';
    await tx.commit([
      bind(
        ADD_RECIPIENT,
        workspaceId,
        id,
        kind,
        name,
        accountCode,
        alias,
        currencyId(currency),
        abroad?.swiftCode ?? null,
      ),
      ...(abroad ? [bind(ADD_BENEFICIARY, workspaceId, id, JSON.stringify(abroad.data))] : []),
      note(step, id),
    ]);
    return id;
  });
}
