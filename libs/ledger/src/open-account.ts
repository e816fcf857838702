import { bind, sqlStatement, type BoundStatement } from '@banking/postgres';

/** A customer's account before its first movement. */
export interface NewAccount {
  readonly workspaceId: number;
  /** Reserved from the sequence `account_id_seq`. */
  readonly id: number;
  readonly productId: number;
  /** ISO 4217 numeric. */
  readonly currencyId: number;
  /** The holder's name. */
  readonly name: string;
  readonly alias?: string | undefined;
  /** ISO 20022 cash account type, such as `CACC`. */
  readonly type: string;
  /** The account number that payers use. Unique over all workspaces. */
  readonly code: string;
}

/** The database sets balance and version. An account starts at zero with a first snapshot. */
const OPEN_ACCOUNT = sqlStatement(
  'open_account',
  `insert into account (workspace_id, id, product_id, currency_id, name, alias, type, code)
   values ($1, $2, $3, $4, $5, $6, $7, $8)`,
);

/** The statement that opens an account. The caller sends it in a database transaction. */
export function openAccount(account: NewAccount): BoundStatement<unknown> {
  const { workspaceId, id, productId, currencyId, name, alias, type, code } = account;
  return bind(OPEN_ACCOUNT, workspaceId, id, productId, currencyId, name, alias ?? null, type, code);
}
