import type { RangeProgress } from '@banking/ledger';
import { reportProgress } from './print.js';

/** Rows between two lines of progress. */
const ROWS_PER_REPORT = 20_000;

/** Reports the progress of a reading in ranges. A reading in a single range is not reported. */
export function reportRanges(): (progress: RangeProgress) => void {
  let current = '';
  let reported = 0;
  return ({ workspaceId, reading, done }) => {
    const name = `${workspaceId}/${reading}`;
    if (name !== current) [current, reported] = [name, 0];
    if (done - reported < ROWS_PER_REPORT) return;
    reported = done;
    const where = workspaceId === 0 ? 'all workspaces' : `workspace ${workspaceId}`;
    reportProgress(`Read ${done} ${reading} of ${where}.`);
  };
}
