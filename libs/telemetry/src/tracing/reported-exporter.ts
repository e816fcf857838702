import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-base';
import type { ReportExport } from './tracing.js';

type ExportResult = Parameters<Parameters<SpanExporter['export']>[1]>[0];

/** `ExportResultCode.SUCCESS` of `@opentelemetry/core`. */
const SUCCESS = 0;

/** Reports when an exporter begins to fail and when it sends again, and not each batch that fails. */
export class ReportedExporter implements SpanExporter {
  private isFailing = false;
  private lostSpans = 0;

  constructor(
    private readonly inner: SpanExporter,
    private readonly report: ReportExport,
  ) {}

  export(spans: ReadableSpan[], done: (result: ExportResult) => void): void {
    this.inner.export(spans, (result) => {
      this.note(spans.length, result);
      done(result);
    });
  }

  async forceFlush(): Promise<void> {
    await this.inner.forceFlush?.();
  }

  shutdown(): Promise<void> {
    return this.inner.shutdown();
  }

  private note(spans: number, { code, error }: ExportResult): void {
    if (code !== SUCCESS) {
      this.lostSpans += spans;
      if (!this.isFailing) this.report({ kind: 'failing', why: whyOf(error) });
      this.isFailing = true;
    } else if (this.isFailing) {
      this.report({ kind: 'sending', lostSpans: this.lostSpans });
      this.isFailing = false;
      this.lostSpans = 0;
    }
  }
}

/** The code of the system or the status of the collector. Its message and its body may repeat what was sent. */
function whyOf(error: Error | undefined): string {
  const { code, name } = (error ?? {}) as { readonly code?: unknown; readonly name?: string };
  if (typeof code === 'number') return `the collector responded with ${code}`;
  return typeof code === 'string' ? code : (name ?? 'no reason given');
}
