import {
  type AccountId,
  type CurrencyCode,
  type Limit,
  type MinorUnits,
  Refusal,
  type Timestamp,
  toDecimal,
  type UserId,
} from '@banking/domain';
import { currencyCode } from '@banking/ledger';

/** A limit as `limit_json` of the database writes it. Numbers of 64 bits are text. */
export interface LimitRow {
  readonly id: number;
  readonly scope: Limit['scope'];
  readonly accountId?: number;
  readonly role?: string;
  readonly userId?: number;
  readonly metric: Limit['metric'];
  readonly per: Limit['per'];
  readonly value: string;
  readonly currencyId?: number;
}

/** How much of a limit is used in a period, and when the next one begins. */
export interface LimitUse {
  readonly used: string;
  readonly endsAt: Timestamp;
}

export function limitOf(row: LimitRow, use?: LimitUse): Limit {
  const { scope, accountId, role, userId, metric, per, value, currencyId } = row;
  return {
    scope,
    ...(accountId !== undefined && { accountID: accountId as AccountId }),
    ...(role !== undefined && { role }),
    ...(userId !== undefined && { userID: userId as UserId }),
    metric,
    per,
    value,
    ...(currencyId !== undefined && { currency: currencyCode(currencyId) }),
    ...(use && { used: use.used, resetsAt: use.endsAt }),
  };
}

const SUBJECTS: Readonly<Record<string, string>> = {
  account: ' of the account',
  role: ' of the role',
  person: ' of the person',
  serviceAccount: ' of the service account',
};

/** The refusal of an order that exceeds a limit. It has no value of the order. */
export function limitExceeded(row: LimitRow, use?: LimitUse): Refusal {
  const most = shown(row, row.value);
  const limit = `The limit${SUBJECTS[row.scope] ?? ' of the workspace'} is ${most} in ${row.per === 'order' ? 'an order' : `a ${row.per}`}`;
  const message = use ? `${limit}. ${shown(row, use.used)} are used until ${use.endsAt}.` : `${limit}.`;
  const detail = { path: '/amount', reason: 'limit_exceeded', message, limit: limitOf(row, use) };
  return new Refusal('limit_exceeded', message, { details: [detail] });
}

const shown = ({ currencyId }: LimitRow, value: string): string => {
  if (currencyId === undefined) return `${value} orders`;
  const code = currencyCode(currencyId) as CurrencyCode;
  // What is used may exceed what one amount may be.
  return `${toDecimal(BigInt(value) as MinorUnits, code)} ${code}`;
};
