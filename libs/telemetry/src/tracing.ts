import type { TracingConfig } from '@banking/process';
import type { ExportEvent, ReportExport, Tracing } from './tracing/tracing.js';

/** Traces of a process. OpenTelemetry is loaded only in a process that exports traces. */
export type { ReceivedRequest, RequestEnd, RequestTrace, TraceHeaders, TraceIds, Tracing } from './tracing/tracing.js';

/** Begins to record traces; undefined without a configuration. @param report receives what happens to the export, for the log */
export async function startTracing(
  config: TracingConfig | undefined,
  report: ReportExport,
): Promise<Tracing | undefined> {
  if (config === undefined) return undefined;
  const { openTracing } = await import('./tracing/open-tracing.js');
  return openTracing(config, report);
}

const FLUSH_MS = 2_000;
/** What a stop still has to do after the last spans. */
const END_MS = 500;

/**
 * How long a stop waits for the spans of the last work to be sent. A collector that cannot be reached does not turn the stop into a
 * failure. @param leftMs how much of the time of the stop is left
 */
export const flushMs = (leftMs = Infinity): number => Math.max(0, Math.min(FLUSH_MS, leftMs - END_MS));

/** The part of a log that takes what happens to the export. */
interface ExportLog {
  warn(fields: object, message: string): void;
  info(fields: object, message: string): void;
}

export function logExport(event: ExportEvent, log: ExportLog): void {
  switch (event.kind) {
    case 'failing':
      return log.warn({ why: event.why }, 'traces not sent');
    case 'sending':
      return log.info({ lostSpans: event.lostSpans }, 'traces sent again');
    case 'warning':
      return log.warn({ why: event.why }, 'trace exporter warning');
    case 'abandoned':
      return log.warn({}, 'last traces not sent before the end');
  }
}
