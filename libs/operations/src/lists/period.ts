import { isInstant, Refusal } from '@banking/domain';

/** A period in the filters of a list. */
export interface Period {
  readonly createdFrom?: string | undefined;
  readonly createdTo?: string | undefined;
}

/**
 * @param names the parameters of the period
 * @throws Refusal `timestamp_invalid` if a limit is not an instant, or if the period ends before it begins
 */
export function checkPeriod(
  { createdFrom, createdTo }: Period,
  [from, to]: readonly [string, string] = ['createdFrom', 'createdTo'],
): void {
  for (const instant of [createdFrom, createdTo]) {
    if (instant !== undefined && !isInstant(instant)) throw new Refusal('timestamp_invalid');
  }
  if (createdFrom === undefined || createdTo === undefined) return;
  // `Date.parse` reads milliseconds: a smaller difference is accepted as an empty period.
  if (Date.parse(createdFrom) <= Date.parse(createdTo)) return;
  const message = `${from} must not be after ${to}.`;
  throw new Refusal('timestamp_invalid', message, {
    details: [{ path: from, reason: 'timestamp_invalid', message }],
  });
}
