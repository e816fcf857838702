import { PAYOUT } from '@banking/payouts';
import { APPROVAL } from '../approvals/carry-out.js';
import { CROSSING } from '../crossings/crossings.js';
import { REMOVED_PLACER } from '../members/pause-orders.js';
import { EXECUTION } from '../orders/schedule.js';

/** The kinds of work that workers carry out. */
export const WORK_KINDS = [EXECUTION, APPROVAL, PAYOUT, CROSSING, REMOVED_PLACER] as const;
export type WorkKind = (typeof WORK_KINDS)[number];
