import { openAccount, type Books } from '@banking/ledger';
import type { AccountId, WorkspaceId } from '@banking/domain';
import { bind, statement, type Tx } from '@banking/postgres';
import { changeAccount } from '../change-account.js';
import { corridorChoice, corridorsRead } from '../corridor-schemas.js';
import { currencyId } from '../load-reference.js';
import { nextRecipient, recordRecipient } from '../record-recipient.js';
import { madeBefore, note } from './world.js';

const NEXT_ACCOUNT = statement<{ id: bigint; product_id: bigint }>(
  'next_account',
  `select nextval('account_id_seq') as id, p.id as product_id from product p where p.currency_id = $1 order by p.id limit 1`,
);
const LIST_CODE = statement(
  'list_account_code',
  'insert into account_code (code, workspace_id, account_id, currency_id) values ($1, $2, $3, $4)',
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

/** Disables an account once: an administrator who enables it again is not overruled by the next start. */
export async function disableOnce({ database }: Books, step: string, { id, ...account }: DemoAccount): Promise<void> {
  if ((await madeBefore(database, step)) !== undefined) return;
  const scope = { workspaceId: account.workspaceId as WorkspaceId, actor: undefined };
  await changeAccount(database, scope, { accountId: id as AccountId, status: 'disabled' });
  await database.flight({}, [note(step, id)]);
}

const codeOf = (accountId: number) => `NW${String(accountId).padStart(10, '0')}`;

export interface DemoRecipient {
  readonly workspaceId: number;
  readonly name: string;
  readonly alias: string;
  readonly accountCode: string;
  readonly currency: string;
  /** Left out for an account of our own house. By the network of the country, and to those `data` names. */
  readonly abroad?: { readonly swiftCode: string; readonly data: Readonly<Record<string, string>> };
}

export async function demoRecipient(books: Books, step: string, recipient: DemoRecipient): Promise<number> {
  const { workspaceId, name, alias, accountCode, currency, abroad } = recipient;
  const before = await madeBefore(books.database, step);
  if (before !== undefined) return before;

  return books.database.transaction({ workspaces: [workspaceId] }, async (tx) => {
    const [[next]] = await tx.flight([nextRecipient] as const);
    const id = Number(next!.id);
    const record = { workspaceId, id, name, accountCode, alias, currencyId: currencyId(currency) };
    const corridorId = abroad && (await corridorOf(tx, currency, abroad.data));
    await tx.commit([
      ...recordRecipient({ ...record, ...(abroad && { abroad: { ...abroad, corridorId: corridorId! } }) }),
      note(step, id),
    ]);
    return id;
  });
}

async function corridorOf(tx: Tx, currencyCode: string, data: Readonly<Record<string, string>>): Promise<number> {
  const { destinationCountry: countryCode = '', beneficiaryAccountType } = data;
  const choice = corridorChoice({ countryCode, currencyCode, payoutMethod: 'LOCAL', beneficiaryAccountType });
  const [[corridor]] = await tx.flight([corridorsRead(choice!)] as const);
  return Number(corridor!.id);
}
