import type { MinorUnits } from '@banking/domain';

/** The amount of a payment that the caller chose. The other amount follows from it. */
export interface FixedAmount {
  /** `source`: the amount that leaves the account, without the fee. `target`: the amount that arrives. */
  readonly side: 'source' | 'target';
  /** At least 1, in minor units of the currency of its side. */
  readonly value: MinorUnits;
  /** The field of the request that a refusal refers to. */
  readonly field: 'amount' | 'targetAmount';
}
