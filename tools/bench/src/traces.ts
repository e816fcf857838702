import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { benchPart, type MetricsFigure, type MetricsOptions } from './metrics.js';

export interface TracesOptions extends MetricsOptions {
  /** The part of the traces that is recorded. */
  readonly ratio: number;
}

/** Measures what traces cost: the measured service sends them to a collector that ignores them. */
export function benchTraces({ ratio, ...options }: TracesOptions): Promise<readonly MetricsFigure[]> {
  return benchPart(options, async () => {
    const collector = createServer((request, response) => {
      request.resume().on('end', () => response.writeHead(200, { 'Content-Type': 'application/json' }).end('{}'));
    });
    await once(collector.listen(0, '127.0.0.1'), 'listening');
    const { port } = collector.address() as AddressInfo;
    return {
      settings: {
        OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
        OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
        OTEL_TRACES_SAMPLER_ARG: String(ratio),
      },
      async stop() {
        collector.closeAllConnections();
        collector.close();
        await once(collector, 'close');
      },
    };
  });
}

/** The figures as text. */
export function reportTraces(figures: readonly MetricsFigure[], ratio: number): string {
  const lines = figures.map(
    ({ name, with: ours, without, ratio: { median, min, max } }) =>
      `  ${name.padEnd(34)} ${ours.median.toFixed(1)} µs with, ${without.median.toFixed(1)} µs without: ` +
      `${median.toFixed(3)} (${min.toFixed(3)} to ${max.toFixed(3)})`,
  );
  return [`Processor time of a request in Node, with ${ratio} of the traces and without traces`, ...lines].join('\n');
}
