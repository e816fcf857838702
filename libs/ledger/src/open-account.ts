import { bind, statement, type Bound } from '@banking/postgres';

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
  /** What others pay to. Unique over all workspaces. */
  readonly code: string;
}

/** Balance, version and floor are the database's: an account starts at zero with a first snapshot of its own. */
const OPEN_ACCOUNT = statement(
  'open_account',
  `insert into account (workspace_id, id, product_id, currency_id, name, alias, type, code)
   values ($1, $2, $3, $4, $5, $6, $7, $8)`,
);

/** The write that opens an account, to travel in one database transaction with what else that takes. */
export function openAccount(account: NewAccount): Bound<unknown> {
  const { workspaceId, id, productId, currencyId, name, alias, type, code } = account;
  return bind(OPEN_ACCOUNT, workspaceId, id, productId, currencyId, name, alias ?? null, type, code);
}
