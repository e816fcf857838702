import type { FeeSchedule } from '../fee.js';
import { AMERICAS } from './americas.js';
import { ASIA_PACIFIC } from './asia-pacific.js';
import { corridorsOf, type CorridorEntry } from './corridor-entry.js';
import { EUROPE } from './europe.js';
import { MIDDLE_EAST_AND_AFRICA } from './middle-east-and-africa.js';
import { SEPA } from './sepa.js';

/** Every corridor, in the order of its id. */
export const CORRIDORS: readonly CorridorEntry[] = [ASIA_PACIFIC, AMERICAS, EUROPE, SEPA, MIDDLE_EAST_AND_AFRICA]
  .flat()
  .flatMap(corridorsOf)
  .sort((one, other) => one.id - other.id);

/** The fee schedule of a corridor; undefined for a corridor without a fee, and for an unknown id. */
export function feeScheduleOf(corridorId: number): FeeSchedule | undefined {
  return CORRIDORS.find(({ id }) => id === corridorId)?.fee;
}
