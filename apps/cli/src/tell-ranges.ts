import type { RangeProgress } from '@banking/ledger';
import { tell } from './print.js';

/** Rows between two lines of progress. */
const TOLD_EVERY = 20_000;

/** Tells people how far a command is that reads in ranges: nothing of what is read in one. */
export function tellRanges(): (progress: RangeProgress) => void {
  let current = '';
  let told = 0;
  return ({ workspaceId, reading, done }) => {
    const name = `${workspaceId}/${reading}`;
    if (name !== current) [current, told] = [name, 0];
    if (done - told < TOLD_EVERY) return;
    told = done;
    const where = workspaceId === 0 ? 'all workspaces' : `workspace ${workspaceId}`;
    tell(`Reading ${reading} of ${where}: ${done}.`);
  };
}
