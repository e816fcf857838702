/** The resident memory of a process in equal intervals. */
export interface Residence {
  readonly name: string;
  readonly everyMs: number;
  readonly samplesMb: readonly number[];
  readonly highestAimMb: number;
  readonly slopeAimMbPerMinute: number;
}

/** The first samples do not count: code is compiled, and pools and caches are filled. */
const WARM_UP_PART = 0.3;

/** The highest sample, and the slope of the line through the samples after the warm-up, by least squares. */
export function growthOf({ samplesMb, everyMs }: Residence): { highestMb: number; slopeMbPerMinute: number } {
  const counted = samplesMb.slice(Math.floor(samplesMb.length * WARM_UP_PART));
  const middle = (counted.length - 1) / 2;
  const mean = counted.reduce((sum, sample) => sum + sample, 0) / counted.length;
  let [covariance, variance] = [0, 0];
  counted.forEach((sample, index) => {
    covariance += (index - middle) * (sample - mean);
    variance += (index - middle) ** 2;
  });
  const perSample = variance === 0 ? 0 : covariance / variance;
  return { highestMb: Math.max(...samplesMb), slopeMbPerMinute: (perSample * 60_000) / everyMs };
}
