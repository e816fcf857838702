/** The heap of a process after a number of requests and a garbage collection. */
export interface Mark {
  readonly asked: number;
  readonly heapMb: number;
  readonly residentMb: number;
}

/** Whether a process keeps something of each request. */
export interface Growth {
  readonly name: string;
  readonly marks: readonly Mark[];
  /** The most the heap may grow after its first three tenths, in which code is compiled and pools are filled. */
  readonly aimMb: number;
}

/** In tenths of all that is asked. */
const MARKS = [1, 3, 5, 7, 9, 10];
const SETTLED_AT = MARKS.indexOf(3);
const MB = 1024 * 1024;

/**
 * Measures the heap of a process repeatedly while it serves a number of requests.
 *
 * @param ask sends this many requests and resolves after the last response
 * @param look the heap of the process after a garbage collection
 */
export async function growing(
  times: number,
  ask: (times: number) => Promise<void>,
  look: () => Promise<Omit<Mark, 'asked'>>,
): Promise<Mark[]> {
  const marks: Mark[] = [];
  let asked = 0;
  for (const tenths of MARKS) {
    const until = Math.ceil((times * tenths) / 10);
    await ask(until - asked);
    asked = until;
    marks.push({ asked, ...(await look()) });
  }
  return marks;
}

/** How much the heap grew once everything had been used. @throws Error for too few marks */
export function settledGrowthOf({ marks }: Growth) {
  const [from, to] = [marks[SETTLED_AT], marks.at(-1)];
  if (from === undefined || to === undefined || to.asked <= from.asked) throw new Error('nothing was asked');
  const grownMb = to.heapMb - from.heapMb;
  return { fromAsked: from.asked, toAsked: to.asked, grownMb, bytesEach: (grownMb * MB) / (to.asked - from.asked) };
}
