import { diag, DiagLogLevel } from '@opentelemetry/api';
import type { ReportExport } from './tracing.js';

/** A warning that differs in its numbers only is reported again after this time. */
const REPEAT_MS = 10 * 60_000;

/**
 * Reports the warnings of the SDK, such as of spans that its full queue has dropped. Its errors are those of batches, which the exporter
 * reports when they begin. Further arguments are left out, because they hold responses of the collector.
 */
export function reportSdkWarnings(report: ReportExport, nowMs: () => number = () => performance.now()): void {
  const reportedAtMs = new Map<string, number>();
  const warn = (message: string) => {
    const kind = message.replaceAll(/[0-9]+/g, 'N');
    const lastMs = reportedAtMs.get(kind);
    if (lastMs !== undefined && nowMs() - lastMs < REPEAT_MS) return;
    reportedAtMs.set(kind, nowMs());
    report({ kind: 'warning', why: message });
  };
  const ignore = () => undefined;
  const logger = { error: ignore, warn, info: ignore, debug: ignore, verbose: ignore };
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
}
