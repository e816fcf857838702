import { purposesOf } from '@banking/reference';

/** The network that carries payouts. It defines the purposes. */
const RAIL = 'sandbox';

/** The purposes of the payment network. None without one. */
export const listPurposes = (hasPayoutNetwork: boolean): Readonly<Record<string, string>> =>
  hasPayoutNetwork ? purposesOf(RAIL) : {};
