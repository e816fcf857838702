import type { AccountId, PlainNumber, UserId } from '../ids.js';
import type { Open } from '../open.js';
import type { Timestamp } from '../timestamp.js';
import type { RoleName } from './user.js';

/**
 * Which orders a limit counts: all of the workspace, those of an account, those that the holders of a role place together, or those that
 * one person or service account places.
 */
export const LIMIT_SCOPES = ['workspace', 'account', 'role', 'person', 'serviceAccount'] as const;
export type LimitScope = (typeof LIMIT_SCOPES)[number];

/** What a limit adds up: the amounts of orders without fees, or the number of orders. */
export const LIMIT_METRICS = ['amount', 'count'] as const;
export type LimitMetric = (typeof LIMIT_METRICS)[number];

/** The time over which a limit adds up. Days and months are those of the time zone of the workspace. */
export const LIMIT_PERIODS = ['order', 'day', 'month'] as const;
export type LimitPeriod = (typeof LIMIT_PERIODS)[number];

/** The maximum number of limits of a workspace. */
export const LIMITS_MAX = 100;

/** A bound on the orders of a workspace. */
export interface LimitTerms {
  readonly scope: Open<LimitScope>;
  /** Of the scope `account`. */
  readonly accountID?: AccountId | PlainNumber;
  /** Of the scope `role`. */
  readonly role?: Open<RoleName>;
  /** The user of the scope `person`, and of the scope `serviceAccount`. */
  readonly userID?: UserId | PlainNumber;
  readonly metric: Open<LimitMetric>;
  readonly per: Open<LimitPeriod>;
  /** The most that is allowed, in digits: minor units of `currency`, or a number of orders. */
  readonly value: string;
  /** ISO 4217 alpha-3. Of the metric `amount`. */
  readonly currency?: string;
}

/** A limit with its use in the current day or month. */
export interface Limit extends LimitTerms {
  readonly accountID?: AccountId;
  readonly userID?: UserId;
  /** How much of it is used, in the units of `value`. Left out for a limit on each order. It may exceed a value that was lowered. */
  readonly used?: string;
  /** When the next day or month begins. */
  readonly resetsAt?: Timestamp;
}

/** All limits of a workspace. */
export interface LimitList {
  /** It rises with each change. 0 before the first. */
  readonly version: number;
  /** Of days and months: a name of the IANA database. */
  readonly timeZone: string;
  readonly limits: readonly Limit[];
}

/** What a limit measures. A list has one limit of each measure. */
const measureOf = ({ scope, accountID, role, userID, metric, per, currency }: LimitTerms): string =>
  JSON.stringify([scope, accountID, role, userID, metric, per, currency]);

/** The places of limits in a list that repeat the measure of one before them. */
export function repeatedMeasures(limits: readonly LimitTerms[]): readonly number[] {
  const places = new Map<string, number>();
  limits.forEach((limit, place) => places.set(measureOf(limit), places.get(measureOf(limit)) ?? place));
  return limits.flatMap((limit, place) => (places.get(measureOf(limit)) === place ? [] : [place]));
}

/**
 * Whether a list allows what the former one does not: a limit of it is missing, or has a higher value. Raising limits may need an approval.
 */
export function isRaised(before: readonly LimitTerms[], after: readonly LimitTerms[]): boolean {
  const values = new Map(after.map((limit) => [measureOf(limit), BigInt(limit.value)]));
  return before.some((limit) => {
    const value = values.get(measureOf(limit));
    return value === undefined || value > BigInt(limit.value);
  });
}
