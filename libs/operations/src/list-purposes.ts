import { purposesOf } from '@banking/reference';

/** The rail that carries our payouts. Which purposes there are is its to say. */
const RAIL = 'sandbox';

export const listPurposes = (): Readonly<Record<string, string>> => purposesOf(RAIL);
