import type { WorkerOptions } from '@banking/work-queue';
import { LRUCache } from 'lru-cache';

type Report = NonNullable<WorkerOptions['onError']>;

/** Failures that are remembered. With more at a time, one is reported again. */
const REMEMBERED_MAX = 1_000;

/**
 * Reports the failure of a payout once for each reason: a network delivers an event until it is recorded, every ten seconds. Failures without
 * a payout are all reported.
 */
export function reportOnce(report: Report): Report {
  const reported = new LRUCache<string, true>({ max: REMEMBERED_MAX });
  return (error, failed) => {
    if (failed?.subjectId !== undefined) {
      const reason = error instanceof Error ? error.message : String(error);
      const failure = `${failed.workspaceId}/${failed.subjectId} ${reason}`;
      if (reported.has(failure)) return;
      reported.set(failure, true);
    }
    report(error, failed);
  };
}
