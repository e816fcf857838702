import { PAYOUT } from '@banking/payouts';
import { CROSSING } from '../crossings/crossings.js';
import { EXECUTION } from '../orders/schedule.js';

/** The kinds of work that workers carry out, as the handlers of `start-banking-worker.ts`. */
export const WORK_KINDS = [EXECUTION, PAYOUT, CROSSING] as const;
