import {
  minorUnits,
  toBalanceAmount,
  type Account,
  type AccountId,
  type BalanceId,
  type AccountStatus,
} from '@banking/domain';
import type { Reference } from '../reference/reference.js';
import { column, type Columns, digits, packed, unpacking } from './columns.js';
import { type PackedRow, pageOfRows } from './compose-page.js';
import { type Composed, selectedOf } from './composed.js';
import { timestampOf } from './timestamp-of.js';
import { withoutNulls } from './without-nulls.js';

/** What a customer's account is composed of. */
export interface AccountRow {
  readonly accountId: bigint | number;
  readonly accountName: string;
  readonly accountStatus: AccountStatus;
  readonly accountType: string;
  readonly accountAlias: string | null;
  readonly accountCode: string;
  readonly accountCreatedAt: string;
  readonly accountUpdatedAt: string;
  readonly balanceId: bigint | number;
  /** Digits, in minor units. */
  readonly balance: string;
  readonly balanceAt: string;
  readonly currencyId: number;
  readonly productId: bigint | number;
}

export const ACCOUNT_COLUMNS: Columns<AccountRow> = {
  accountId: column('id'),
  accountName: column('name'),
  accountStatus: column('status'),
  accountType: column('type'),
  accountAlias: column('alias'),
  accountCode: column('code'),
  accountCreatedAt: column('created_at'),
  accountUpdatedAt: column('updated_at'),
  balanceId: column('balance_id'),
  balance: digits('balance'),
  balanceAt: column('balance_at'),
  currencyId: column('currency_id'),
  productId: column('product_id'),
};

/** `balances` has one element, the latest snapshot. Opening an account writes its first, of 0. */
export function composeAccount(reference: Reference, row: AccountRow): Account {
  const balanceAt = timestampOf(row.balanceAt);
  return withoutNulls<Account>({
    id: Number(row.accountId) as AccountId,
    name: row.accountName,
    status: row.accountStatus,
    type: row.accountType,
    alias: row.accountAlias,
    code: row.accountCode,
    createdAt: timestampOf(row.accountCreatedAt),
    updatedAt: timestampOf(row.accountUpdatedAt),
    edges: {
      balances: [
        {
          id: Number(row.balanceId) as BalanceId,
          amount: toBalanceAmount(minorUnits(BigInt(row.balance))),
          createdAt: balanceAt,
          updatedAt: balanceAt,
        },
      ],
      currency: reference.currency(row.currencyId),
      product: reference.product(row.productId),
    },
  });
}

/** An account `t`. */
export const ACCOUNT: Composed<AccountRow, Account> = {
  columns: selectedOf([ACCOUNT_COLUMNS, 't']),
  joins: '',
  compose: composeAccount,
};

const accountOf = unpacking(ACCOUNT_COLUMNS);

export const packedAccount = (alias: string): PackedRow<AccountRow> => ({
  packed: packed(ACCOUNT_COLUMNS, alias),
  joins: '',
  rowOf: accountOf,
});

export const ACCOUNT_PAGE = pageOfRows(packedAccount('t'), composeAccount);
