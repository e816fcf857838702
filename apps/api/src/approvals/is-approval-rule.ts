import { APPROVAL_GROUPS, APPROVALS_MAX, APPROVER_ROLES, isAmountCurrency, MINOR_UNITS_MAX } from '@banking/domain';

const DAYS_MAX = 3_650;
const BOUNDS_MAX = 50;

const isWhole = (value: unknown, maximum: number): boolean =>
  Number.isSafeInteger(value) && (value as number) >= 1 && (value as number) <= maximum;

const isOneOf = (value: unknown, choices: readonly string[]): boolean => choices.includes(value as string);

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isBound = (value: unknown): boolean =>
  isRecord(value) &&
  Object.keys(value).length === 2 &&
  typeof value['currencyCode'] === 'string' &&
  isAmountCurrency(value['currencyCode']) &&
  typeof value['amount'] === 'string' &&
  /^[1-9][0-9]{0,18}$/.test(value['amount']) &&
  BigInt(value['amount']) <= MINOR_UNITS_MAX;

const FIELDS: Readonly<Record<string, (value: unknown) => boolean>> = {
  operations: (value) => isOneOf(value, APPROVAL_GROUPS),
  approvals: (value) => isWhole(value, APPROVALS_MAX),
  roles: (value) =>
    Array.isArray(value) &&
    value.length > 0 &&
    new Set(value).size === value.length &&
    value.every((role) => isOneOf(role, APPROVER_ROLES)),
  amountAbove: (value) =>
    Array.isArray(value) && value.length > 0 && value.length <= BOUNDS_MAX && value.every((bound) => isBound(bound)),
  accountID: (value) => isWhole(value, Number.MAX_SAFE_INTEGER),
  recipientNewerThanDays: (value) => isWhole(value, DAYS_MAX),
};

const REQUIRED = ['operations', 'approvals', 'roles'];

/** Whether a value has the fields of a rule and no others. The port checks how they fit together. */
export const isApprovalRule = (value: unknown): boolean =>
  isRecord(value) &&
  REQUIRED.every((name) => Object.hasOwn(value, name)) &&
  Object.entries(value).every(([name, field]) => Object.hasOwn(FIELDS, name) && FIELDS[name]!(field));
