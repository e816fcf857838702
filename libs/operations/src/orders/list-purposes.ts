import { purposesOf } from '@banking/reference';

/** The network that carries payouts. It defines the purposes. */
const RAIL = 'sandbox';

export const listPurposes = (): Readonly<Record<string, string>> => purposesOf(RAIL);
