import type { Rounding } from '@banking/domain';

/** The rounding of the arriving amount. A conversion never pays out more than it takes in, whatever amount the caller chooses. */
export const CONVERSION_ROUNDING: Rounding = 'down';

/** Each step of a fee is rounded up. The fee is never below its schedule. */
export const FEE_ROUNDING: Rounding = 'up';
