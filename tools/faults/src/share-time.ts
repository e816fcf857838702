import type { Phase } from './scenario.js';

/** What of a scenario decides on its time. */
export interface Timed {
  readonly name: string;
  readonly phase: Phase;
  readonly minutesMax: number;
}

const HOUR_MIN = 60;
/** Starting a cluster, settling its payouts and the final checks, on a machine that does nothing else. */
const OVERHEAD_MIN = 0.5;
/** A run with less time for each scenario shows that the scenarios work. Their starts and final checks come on top. */
const SHORT_MIN = 1;

/**
 * Shares the time of a run between its scenarios, by the time that each needs on a machine that does nothing else. What a scenario left
 * is shared by those after it. Without a number of minutes, a run takes at most an hour, and a scenario twice the time it needs.
 *
 * @returns the time of load and faults of a scenario, to be asked for at its start, in milliseconds
 */
export function shareTime(
  scenarios: readonly Timed[],
  minutes: number | undefined,
  nowMs: () => number = Date.now,
): (scenario: Timed) => number {
  const total = minutes ?? HOUR_MIN;
  const isShort = total < SHORT_MIN * scenarios.length;
  const startedMs = nowMs();
  const begun = new Set<string>();
  return (scenario) => {
    begun.add(scenario.name);
    const waiting = isShort ? scenarios : scenarios.filter(({ name }) => !begun.has(name));
    const path = longestPath(
      scenario,
      waiting.filter(({ name }) => name !== scenario.name),
    );
    const overhead = isShort ? 0 : OVERHEAD_MIN * path.length + (nowMs() - startedMs) / 60_000;
    const share = (total - overhead) * (scenario.minutesMax / weightOf(path));
    const most = minutes === undefined ? 2 * scenario.minutesMax : Infinity;
    // A run that is late still shows that its last scenarios work.
    const least = 0.1 * Math.min(scenario.minutesMax, total / scenarios.length);
    return 60_000 * Math.min(most, Math.max(share, least));
  };
}

/** The scenario and those that run after it, one after another. The soak runs beside the others, so that the longer of the two counts. */
function longestPath(scenario: Timed, after: readonly Timed[]): readonly Timed[] {
  const of = (wanted: Phase) => after.filter(({ phase }) => phase === wanted);
  if (scenario.phase !== 'alone') return [scenario, ...of(scenario.phase)];
  const [soak, others] = [of('soak'), of('other')];
  return [scenario, ...of('alone'), ...(weightOf(soak) > weightOf(others) ? soak : others)];
}

const weightOf = (scenarios: readonly Timed[]) => scenarios.reduce((sum, { minutesMax }) => sum + minutesMax, 0);
