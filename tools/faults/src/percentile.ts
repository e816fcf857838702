/** The value that a part of the values does not exceed, such as 0.99. */
export function percentile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;
}

/** The value that 99 % of the values do not exceed. */
export const p99 = (values: readonly number[]): number => percentile(values, 0.99);
