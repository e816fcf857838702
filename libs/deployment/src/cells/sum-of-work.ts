import { Refusal } from '@banking/domain';

/** The state of the queue of one database, or of several together. */
interface WorkStatus {
  readonly parked: Readonly<Record<string, number>>;
  readonly unserved: Readonly<Record<string, number>>;
  readonly oldestDueSeconds: number;
}

/**
 * The work of several databases. A database that is away counts nothing, because it must not hide the work of the others.
 *
 * @throws Refusal `unavailable` if none answers. @throws every other error
 */
export async function sumOfWork(readers: readonly (() => Promise<WorkStatus>)[]): Promise<WorkStatus> {
  const results = await Promise.allSettled(readers.map(async (read) => read()));
  const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
  const unexpected = failures.find((failure) => !(failure instanceof Refusal));
  const statuses = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  if (unexpected !== undefined || statuses.length === 0) throw unexpected ?? failures[0];
  const parked = sumByKind(statuses.map((status) => status.parked));
  const unserved = sumByKind(statuses.map((status) => status.unserved));
  return { parked, unserved, oldestDueSeconds: Math.max(...statuses.map(({ oldestDueSeconds }) => oldestDueSeconds)) };
}

function sumByKind(counts: readonly WorkStatus['parked'][]): WorkStatus['parked'] {
  const sum: Record<string, number> = {};
  for (const [kind, count] of counts.flatMap((one) => Object.entries(one))) sum[kind] = (sum[kind] ?? 0) + count;
  return sum;
}
