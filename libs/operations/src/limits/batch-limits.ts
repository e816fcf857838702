import type { MinorUnits, Refusal, Timestamp } from '@banking/domain';
import { bind, type BoundStatement, sqlStatement } from '@banking/postgres';
import type { PaymentTerms } from '../payments/payment-terms.js';
import { limitExceeded, type LimitRow, type LimitUse } from './limit-row.js';

/** A payment as limits count it. */
export interface CountedPayment {
  readonly workspaceId: number;
  readonly accountId: number;
  /** The user who placed its order. */
  readonly placedBy: number | undefined;
  readonly amount: MinorUnits;
  readonly terms: PaymentTerms;
}

interface LockedRow {
  readonly workspace_id: bigint;
  readonly limits: readonly (LimitRow & { readonly uses: readonly (LimitUse & { readonly startsAt: Timestamp })[] })[];
  /** Of the users who placed payments, by their ids. */
  readonly roles: Readonly<Record<string, readonly string[]>>;
}

const LOCK_LIMITS = sqlStatement<LockedRow>(
  'lock_limits',
  'select workspace_id, limits, roles from lock_limits($1::bigint[], $2::bigint[], $3)',
);

/** Locks the limits of workspaces and reads them. @param waits whether to wait for another session that has locked them, or to leave them out */
export const lockLimits = (
  payments: readonly { readonly workspaceId: number; readonly placedBy: number | undefined }[],
  waits: boolean,
): BoundStatement<LockedRow> =>
  bind(
    LOCK_LIMITS,
    payments.map(({ workspaceId }) => workspaceId),
    payments.map(({ placedBy }) => placedBy ?? null),
    waits,
  );

/** A limit with what the orders of the batch and those before it use. */
interface LimitState {
  readonly row: LimitRow;
  readonly value: bigint;
  readonly periods: readonly { readonly startsAt: Timestamp; readonly endsAt: Timestamp; used: bigint }[];
}

/** The limits of a workspace, and the roles of those who place its payments. */
export interface WorkspaceLimits {
  readonly limits: readonly LimitState[];
  readonly roles: LockedRow['roles'];
  /** When the first of the present periods ends. Undefined without limits on a day or a month. */
  readonly endsAt: Timestamp | undefined;
}

/** The limits of the workspaces of a batch. Each payment is checked on what those before it left. */
export class BatchLimits {
  constructor(readonly workspaces: ReadonlyMap<number, WorkspaceLimits>) {}

  static ofRows(rows: readonly LockedRow[]): BatchLimits {
    return new BatchLimits(new Map(rows.map((row) => [Number(row.workspace_id), limitsOf(row)])));
  }

  /** The refusal of a payment that would exceed a limit. @param at when it is made, in the text of PostgreSQL */
  refusalOf(payment: CountedPayment, at: Timestamp): Refusal | undefined {
    for (const { row, value, periods } of this.countersOf(payment)) {
      const amount = amountFor(row, payment);
      const period = periods.find(({ startsAt, endsAt }) => startsAt <= at && at < endsAt);
      if (row.per === 'order' ? amount > value : amount > 0n && (period?.used ?? 0n) + amount > value) {
        return limitExceeded(row, period && { used: period.used.toString(), endsAt: period.endsAt });
      }
    }
    return undefined;
  }

  /** Counts a payment that is made. */
  count(payment: CountedPayment, at: Timestamp): void {
    for (const { row, periods } of this.countersOf(payment)) {
      const period = periods.find(({ startsAt, endsAt }) => startsAt <= at && at < endsAt);
      if (period) period.used += amountFor(row, payment);
    }
  }

  private countersOf(payment: CountedPayment): readonly LimitState[] {
    const { limits, roles } = this.workspaces.get(payment.workspaceId) ?? { limits: [], roles: {} };
    return limits.filter(({ row }) => isInScope(row, payment, roles));
  }
}

/** A copy, so that a batch can be counted that may not be committed. */
export const copyOfLimits = ({ limits, ...more }: WorkspaceLimits): WorkspaceLimits => ({
  limits: limits.map((limit) => ({ ...limit, periods: limit.periods.map((period) => ({ ...period })) })),
  ...more,
});

/** Whether two readings of limits are of the same list, and as much is used of each. */
export function areUsedAlike(one: WorkspaceLimits, other: WorkspaceLimits): boolean {
  return (
    one.limits.length === other.limits.length &&
    one.limits.every((limit, index) => isUsedAlike(limit, other.limits[index]!))
  );
}

/** A period that only one has seen was not used before. */
const isUsedAlike = (one: LimitState, other: LimitState): boolean =>
  one.row.id === other.row.id &&
  one.value === other.value &&
  other.periods.every(
    ({ startsAt, used }) => used === (one.periods.find((period) => period.startsAt === startsAt)?.used ?? 0n),
  );

function limitsOf({ limits, roles }: LockedRow): WorkspaceLimits {
  const states = limits.map(stateOf);
  const ends = states.flatMap(
    ({ periods }) =>
      periods
        .map(({ endsAt }) => endsAt)
        .sort()
        .at(-1) ?? [],
  );
  return { limits: states, roles, endsAt: ends.sort()[0] };
}

const stateOf = ({ uses, ...row }: LockedRow['limits'][number]): LimitState => ({
  row,
  value: BigInt(row.value),
  periods: uses.map(({ startsAt, endsAt, used }) => ({ startsAt, endsAt, used: BigInt(used) })),
});

function isInScope(row: LimitRow, { accountId, placedBy }: CountedPayment, roles: LockedRow['roles']): boolean {
  switch (row.scope) {
    case 'workspace':
      return true;
    case 'account':
      return row.accountId === accountId;
    case 'role':
      return placedBy !== undefined && (roles[placedBy] ?? []).includes(row.role ?? '');
    default:
      return row.userId === placedBy;
  }
}

/** What the payment is worth in the currency of the limit, rounded up. In another currency it was converted when it was priced. */
function amountFor({ metric, currencyId }: LimitRow, { amount, terms }: CountedPayment): bigint {
  if (metric === 'count') return 1n;
  if (currencyId === terms.currencyId) return amount;
  if (currencyId === terms.targetCurrencyId && terms.conversion) {
    const [rest, unit] = [terms.conversion.remainderNumerator, terms.conversion.remainderDenominator].map(BigInt);
    return terms.targetAmount + (rest! + unit! - 1n) / unit!;
  }
  // The database refuses a payment without it.
  return terms.convertedAmounts?.find((converted) => converted.currencyId === currencyId)?.amount ?? 0n;
}
