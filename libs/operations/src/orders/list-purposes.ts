import { purposesOf } from '@banking/reference';

/** The network that carries payouts. It defines the purposes. */
const RAIL = 'sandbox';

const PURPOSES_OF_RAIL = purposesOf(RAIL);

/** The purposes of the payment network. None without one. */
export const listPurposes = (hasPayoutNetwork: boolean): Readonly<Record<string, string>> =>
  hasPayoutNetwork ? PURPOSES_OF_RAIL : {};
