import {
  type Account,
  type AccountId,
  type AccountStatus,
  type BalanceId,
  type Beneficiary,
  type BeneficiaryData,
  minorUnits,
  type Recipient,
  type RecipientId,
  type RecipientVerification,
  toBalanceAmount,
} from '@banking/domain';
import type { Reference } from '../reference/reference.js';
import {
  column,
  type Columns,
  digits,
  joined,
  listed,
  packed,
  type RowOf,
  sqlOf,
  timestampOf,
  unpacking,
  withoutNulls,
} from './columns.js';
import { type Composed, type PackedRow, packedRow, pageOfRows, selectedOf } from './reading.js';

export const ACCOUNT_COLUMNS = {
  accountId: column<bigint | number>('id'),
  accountName: column<string>('name'),
  accountStatus: column<AccountStatus>('status'),
  accountType: column<string>('type'),
  accountAlias: column<string | null>('alias'),
  accountCode: column<string>('code'),
  accountCreatedAt: column<string>('created_at'),
  accountUpdatedAt: column<string>('updated_at'),
  balanceId: column<bigint | number>('balance_id'),
  /** Digits, in minor units. */
  balance: digits('balance'),
  balanceAt: column<string>('balance_at'),
  currencyId: column<number>('currency_id'),
  productId: column<bigint | number>('product_id'),
} satisfies Columns;

/** What a customer's account is composed of. */
export type AccountRow = RowOf<typeof ACCOUNT_COLUMNS>;

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

export const ACCOUNT_PAGE = pageOfRows(packedRow(ACCOUNT_COLUMNS, 't'), composeAccount);

export const RECIPIENT_COLUMNS = {
  recipientId: column<bigint | number | null>('id'),
  recipientName: column<string>('name'),
  recipientAccountCode: column<string>('account_code'),
  recipientAlias: column<string | null>('alias'),
  recipientSaved: column<boolean>('saved'),
  recipientCreatedAt: column<string>('created_at'),
  recipientUpdatedAt: column<string>('updated_at'),
  recipientCurrencyId: column<number>('currency_id'),
  // The currency of an account in another workspace is not disclosed.
  recipientShowsCurrency: sqlOf<boolean>(
    (r) => `${r}.kind = 'international' or exists (
    select from account_code o where o.code = ${r}.account_code and o.workspace_id = ${r}.workspace_id)`,
  ),
  bankId: column<bigint | number | null>('bank_id'),
} satisfies Columns;

/** What a recipient is composed of, with its beneficiary. */
export type RecipientRow = RowOf<typeof RECIPIENT_COLUMNS>;

export const BENEFICIARY_COLUMNS = {
  beneficiaryId: column<bigint | number | null>('id'),
  beneficiaryData: column<BeneficiaryData>('data'),
  beneficiaryCreatedAt: column<string>('created_at'),
  beneficiaryUpdatedAt: column<string>('updated_at'),
} satisfies Columns;

export type BeneficiaryRow = RowOf<typeof BENEFICIARY_COLUMNS>;

/** The join of the beneficiary `n` of a recipient. */
export const beneficiaryOf = (r: string): string =>
  `left join lateral beneficiary_of(${r}.workspace_id, ${r}.id) n on true`;

/** Null if there is no recipient. */
export function composeRecipient(reference: Reference, row: RecipientRow & BeneficiaryRow): Recipient | null {
  if (row.recipientId === null) return null;
  return withoutNulls<Recipient>({
    id: Number(row.recipientId) as RecipientId,
    name: row.recipientName,
    accountCode: row.recipientAccountCode,
    alias: row.recipientAlias,
    saved: row.recipientSaved,
    createdAt: timestampOf(row.recipientCreatedAt),
    updatedAt: timestampOf(row.recipientUpdatedAt),
    edges: withoutNulls<Recipient['edges']>({
      bank: row.bankId === null ? null : reference.bank(row.bankId),
      beneficiary: composeBeneficiary(row),
      currency: row.recipientShowsCurrency ? reference.currency(row.recipientCurrencyId) : null,
    }),
  });
}

function composeBeneficiary(row: BeneficiaryRow): Beneficiary | null {
  if (row.beneficiaryId === null) return null;
  return {
    id: Number(row.beneficiaryId) as Beneficiary['id'],
    data: row.beneficiaryData,
    createdAt: timestampOf(row.beneficiaryCreatedAt),
    updatedAt: timestampOf(row.beneficiaryUpdatedAt),
  };
}

export type RecipientFacts = RecipientRow & BeneficiaryRow;

/** Of a recipient that is read by itself: neither payments nor their responses depend on it. */
const VERIFICATION_COLUMNS = {
  verification: column<RecipientVerification['result'] | null>('verification'),
  verifiedName: column<string | null>('verified_name'),
  verifiedAt: column<string | null>('verified_at'),
} satisfies Columns;

type VerificationRow = RowOf<typeof VERIFICATION_COLUMNS>;

export type VerifiedRecipientRow = RecipientFacts & VerificationRow;

/** The row is that of a recipient, so there is one. */
function composeVerified(reference: Reference, row: VerifiedRecipientRow): Recipient {
  const { edges, ...recipient } = composeRecipient(reference, row)!;
  const { verification: result, verifiedName: name, verifiedAt } = row;
  if (result === null || verifiedAt === null) return { ...recipient, edges };
  const verification = withoutNulls<RecipientVerification>({ result, name, verifiedAt: timestampOf(verifiedAt) });
  return { ...recipient, verification, edges };
}

/** A recipient `t` with all its edges and its last verification. */
export const RECIPIENT: Composed<VerifiedRecipientRow, Recipient> = {
  columns: selectedOf([RECIPIENT_COLUMNS, 't'], [VERIFICATION_COLUMNS, 't'], [BENEFICIARY_COLUMNS, 'n']),
  joins: beneficiaryOf('t'),
  compose: composeVerified,
};

const recipientOf = unpacking({ ...RECIPIENT_COLUMNS, ...BENEFICIARY_COLUMNS });

/** A recipient with its beneficiary, looked up by itself: see `joined`. */
export const packedRecipient = (alias: string): PackedRow<RecipientFacts> => ({
  packed: packed(RECIPIENT_COLUMNS, alias, listed(BENEFICIARY_COLUMNS, 'n')),
  joins: beneficiaryOf(alias),
  rowOf: recipientOf,
});

const packedVerified: PackedRow<VerifiedRecipientRow> = {
  ...packedRecipient('t'),
  packed: packed({ ...RECIPIENT_COLUMNS, ...VERIFICATION_COLUMNS }, 't', listed(BENEFICIARY_COLUMNS, 'n')),
  rowOf: unpacking({ ...RECIPIENT_COLUMNS, ...VERIFICATION_COLUMNS, ...BENEFICIARY_COLUMNS }),
};

export const RECIPIENT_PAGE = pageOfRows(packedVerified, RECIPIENT.compose);

/** What the account and the recipient of a payment are composed of. */
export type PartiesRow = AccountRow & RecipientFacts;

/** The account `a` and the recipient `r`, if there is one, of a row `t`. */
export const PARTIES = {
  columns: selectedOf([ACCOUNT_COLUMNS, 'a'], [RECIPIENT_COLUMNS, 'r'], [BENEFICIARY_COLUMNS, 'n']),
  joins: `${joined('account', 'a', 'l.workspace_id = t.workspace_id and l.id = t.account_id')}
   ${joined('recipient', 'r', 'l.workspace_id = t.workspace_id and l.id = t.recipient_id')}
   ${beneficiaryOf('r')}`,
} as const;
