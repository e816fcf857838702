import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { METRICS, type CounterName, type GaugeName, type HistogramName, type Metric } from './metric-list.js';

/** The metrics of a process. Each is registered when it is used first, so that a process has no metrics of parts that it lacks. */
export class Metrics {
  readonly registry = new Registry();
  private readonly registered = new Map<string, unknown>();

  counter(name: CounterName, collect?: () => void): Counter {
    return this.registeredAs(name, (options) => new Counter({ ...options, ...(collect && { collect }) }));
  }

  /** It has no value before it is set. */
  gauge(name: GaugeName, collect?: () => Promise<void> | void): Gauge {
    return this.registeredAs(name, (options) => {
      const gauge = new Gauge({ ...options, ...(collect && { collect }) });
      // prom-client begins with 0, which would be a value.
      if (METRICS[name].labels.length === 0) gauge.remove();
      return gauge;
    });
  }

  histogram(name: HistogramName): Histogram {
    const { buckets }: Metric = METRICS[name];
    return this.registeredAs(
      name,
      (options) => new Histogram({ ...options, ...(buckets && { buckets: [...buckets] }) }),
    );
  }

  private registeredAs<T>(name: keyof typeof METRICS, make: (options: MetricOptions) => T): T {
    const known = this.registered.get(name);
    if (known !== undefined) return known as T;
    const { help, labels } = METRICS[name];
    const made = make({ name, help, labelNames: [...labels], registers: [this.registry] });
    this.registered.set(name, made);
    return made;
  }
}

interface MetricOptions {
  readonly name: string;
  readonly help: string;
  readonly labelNames: string[];
  readonly registers: Registry[];
}
