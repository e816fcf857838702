import { Histogram, Registry } from 'prom-client';
import { LeanHistogram } from './lean-histogram.js';

const BOUNDS = [0.1, 1, 10];

/** The lines of a registry, those that explain left out, in a stable order. */
async function linesOf(registry: Registry): Promise<readonly string[]> {
  return (await registry.metrics())
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .sort();
}

function registryOf(histogram: LeanHistogram): Registry {
  const registry = new Registry();
  registry.registerMetric(histogram as unknown as Histogram);
  return registry;
}

describe('a lean histogram', () => {
  it('has the lines of a histogram of prom-client', async () => {
    const registry = new Registry();
    const labelNames = ['method', 'status'];
    const theirs = new Histogram({ name: 'x', help: 'X.', labelNames, buckets: BOUNDS, registers: [registry] });
    const ours = new LeanHistogram('x', 'X.', labelNames, BOUNDS);
    for (const value of [0, 0.1, 0.100001, 1, 2, 10, 11, 1e9]) {
      for (const [method, status] of [
        ['GET', 200],
        ['GET', 404],
        ['a "quoted" text', 200],
      ] as const) {
        theirs.observe({ method, status }, value);
        ours.observe(value, method, status);
      }
    }

    expect(await linesOf(registryOf(ours))).toEqual(await linesOf(registry));
  });

  it('begins with zero if it has no labels, and without lines if it has some', async () => {
    expect(await linesOf(registryOf(new LeanHistogram('x', 'X.', [], [1])))).toEqual([
      'x_bucket{le="+Inf"} 0',
      'x_bucket{le="1"} 0',
      'x_count 0',
      'x_sum 0',
    ]);
    expect(await linesOf(registryOf(new LeanHistogram('x', 'X.', ['a'], [1])))).toEqual([]);
  });

  it('refuses another number of labels', () => {
    const histogram = new LeanHistogram('x', 'X.', ['a', 'b'], [1]);

    expect(() => histogram.observe(1, 'only')).toThrow('x has 2 labels');
  });
});
