import type { ApprovalGroup, ApprovalRequirement, ApprovalRule, CurrencyCode, MinorUnits } from '@banking/domain';

/** What the conditions of rules ask of an order. */
export interface OrderToApprove {
  readonly accountId: number;
  readonly currency: CurrencyCode | null;
  readonly amount: MinorUnits;
  /** How long ago the recipient was added, in seconds. */
  readonly recipientAgeS: number;
}

const DAY_S = 86_400;

/**
 * What rules require of an operation, one requirement for each rule that applies; none if it needs no approval. The function
 * `approval_requirements` of the database says the same.
 *
 * @param order of the group `orders`
 */
export const requirementsOf = (
  rules: readonly ApprovalRule[] | null,
  group: ApprovalGroup,
  order?: OrderToApprove,
): readonly ApprovalRequirement[] =>
  (rules ?? [])
    .filter((rule) => rule.operations === group && (order === undefined || appliesTo(rule, order)))
    .map(({ approvals, roles }) => ({ approvals, roles }));

function appliesTo(
  { accountID, amountAbove, recipientNewerThanDays }: ApprovalRule,
  { accountId, currency, amount, recipientAgeS }: OrderToApprove,
): boolean {
  if (accountID !== undefined && accountID !== accountId) return false;
  // An amount in a currency without a bound is above it.
  if (amountAbove?.some((bound) => bound.currencyCode === currency && amount <= BigInt(bound.amount))) return false;
  return recipientNewerThanDays === undefined || recipientAgeS < recipientNewerThanDays * DAY_S;
}
