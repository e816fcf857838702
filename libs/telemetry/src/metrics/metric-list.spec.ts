import { METRICS, type Metric } from './metric-list.js';

const ROWS = Object.entries<Metric>(METRICS);

/** What the name of a metric ends with, by its type. */
const ENDINGS: Readonly<Record<Metric['type'], RegExp>> = {
  counter: /_total$/,
  histogram: /_(seconds|size)$/,
  gauge:
    /_(seconds|bytes|ratio|info|up|ready|open|due|parked|stopped|findings|connections|waiting|fds|connected|lost|unserved|unrecorded|endpoints|differences|refused|held)$/,
};

/** The labels of all metrics. A new one needs a bounded set of values that are no data of callers. */
const LABELS = [
  ...['app', 'cell', 'chore', 'commit', 'fault', 'kind', 'method', 'node', 'operation', 'outcome', 'rail', 'reason'],
  ...['route', 'sqlstate', 'state', 'status', 'strategy', 'subject', 'version'],
];

describe('the list of metrics', () => {
  it.each(ROWS)('names %s by its type and unit', (name, { type, isUsual }) => {
    expect(name).toMatch(/^[a-z][a-z0-9_]*$/);
    if (isUsual !== true) expect(name).toMatch(/^banking_/);
    expect(name).toMatch(ENDINGS[type]);
  });

  it('has no other labels', () => {
    expect([...new Set(ROWS.flatMap(([, { labels }]) => labels))].sort()).toEqual(LABELS);
  });

  it('has rising bounds for each histogram', () => {
    for (const [name, { type, buckets }] of ROWS) {
      expect({ name, hasBuckets: buckets !== undefined }).toEqual({ name, hasBuckets: type === 'histogram' });
      expect(buckets).toEqual(buckets && [...new Set(buckets)].sort((a, b) => a - b));
    }
  });
});
