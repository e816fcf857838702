import type { Group, Metric } from '../metrics/metric.js';

/** The panels of a line have this width of 24 columns. */
const WIDTH = 8;
const HEIGHT = 7;

const SOURCE = { type: 'prometheus', uid: '${datasource}' };
const JOBS = 'job=~"$job"';

/** The unit of a metric, by the end of its name, as Grafana names it. */
function unitOf(name: string, { type }: Metric): string {
  if (/_timestamp_seconds$/.test(name)) return 'dateTimeFromNow';
  if (/_seconds(_total)?$/.test(name)) return 's';
  if (/_bytes$/.test(name)) return 'bytes';
  if (/_ratio$/.test(name)) return 'percentunit';
  return type === 'counter' ? 'ops' : 'short';
}

/** What is drawn of a metric. A histogram shows its 50th and 99th percentile, and its calls a second by its labels. */
function queriesOf(
  name: string,
  { type, labels }: Metric,
): readonly { readonly expr: string; readonly legend: string }[] {
  const by = labels.join(', ');
  const legend = labels.map((label) => `{{${label}}}`).join(' ') || '{{job}}';
  if (type === 'histogram') {
    const quantile = (part: number) =>
      `histogram_quantile(${part}, sum by (le) (rate(${name}_bucket{${JOBS}}[$__rate_interval])))`;
    return [
      { expr: quantile(0.5), legend: 'p50' },
      { expr: quantile(0.99), legend: 'p99' },
    ];
  }
  if (type === 'counter') {
    return [{ expr: `sum by (${by || 'job'}) (rate(${name}{${JOBS}}[$__rate_interval]))`, legend }];
  }
  return labels.length > 0
    ? [{ expr: `max by (${by}) (${name}{${JOBS}})`, legend }]
    : [{ expr: `${name}{${JOBS}}`, legend: '{{job}} {{instance}}' }];
}

/** Panels that no single metric makes. */
const FIRST = [
  {
    title: 'Responses a second by status',
    unit: 'reqps',
    expr: `sum by (status) (rate(banking_http_request_duration_seconds_count{${JOBS}}[$__rate_interval]))`,
    legend: '{{status}}',
  },
  {
    title: 'Responses a second by route',
    unit: 'reqps',
    expr: `topk(10, sum by (method, route) (rate(banking_http_request_duration_seconds_count{${JOBS}}[$__rate_interval])))`,
    legend: '{{method}} {{route}}',
  },
  {
    title: 'p99 by route',
    unit: 's',
    expr:
      `topk(10, histogram_quantile(0.99, sum by (method, route, le) ` +
      `(rate(banking_http_request_duration_seconds_bucket{${JOBS}}[$__rate_interval]))))`,
    legend: '{{method}} {{route}}',
  },
];

interface Panel {
  readonly title: string;
  readonly description: string;
  readonly unit: string;
  readonly queries: readonly { readonly expr: string; readonly legend: string }[];
}

/** The dashboard for Grafana: one row a group of metrics, one panel a metric. */
export function renderDashboard(metrics: Readonly<Record<string, Metric>>): string {
  const names = Object.entries(metrics);
  const groups = [...new Set(names.map(([, { group }]) => group))];
  const rows = groups.map((group) => ({ group, panels: panelsOf(group, names) }));
  let [id, y] = [0, 0];
  const panels = rows.flatMap(({ group, panels: own }) => {
    const row = {
      id: ++id,
      type: 'row',
      title: group,
      collapsed: false,
      gridPos: { h: 1, w: 24, x: 0, y },
      panels: [],
    };
    const placed = own.map((panel, index) => {
      const at = { h: HEIGHT, w: WIDTH, x: (index * WIDTH) % 24, y: y + 1 + Math.floor((index * WIDTH) / 24) * HEIGHT };
      return graph(++id, at, panel);
    });
    y += 1 + Math.ceil((own.length * WIDTH) / 24) * HEIGHT;
    return [row, ...placed];
  });
  return `${JSON.stringify({ ...HEAD, panels }, null, 2)}\n`;
}

function panelsOf(group: Group, names: readonly (readonly [string, Metric])[]): readonly Panel[] {
  const own = names
    .filter(([, metric]) => metric.group === group)
    .map(([name, metric]) => ({
      title: name.replace(/^banking_/, ''),
      description: metric.help,
      unit: unitOf(name, metric),
      queries: queriesOf(name, metric),
    }));
  const more = FIRST.map(({ title, unit, ...query }) => ({ title, description: '', unit, queries: [query] }));
  return group === 'HTTP' ? [...more, ...own] : own;
}

const graph = (id: number, gridPos: object, { title, description, unit, queries }: Panel) => ({
  id,
  type: 'timeseries',
  title,
  description,
  datasource: SOURCE,
  gridPos,
  // A time since which something has passed is in seconds at Prometheus and in milliseconds at Grafana.
  fieldConfig: { defaults: { unit }, overrides: [] },
  options: { legend: { showLegend: true, displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi' } },
  targets: queries.map(({ expr, legend }, index) => ({
    refId: String.fromCharCode(65 + index),
    datasource: SOURCE,
    expr: unit === 'dateTimeFromNow' ? `${expr} * 1000` : expr,
    legendFormat: legend,
  })),
});

const HEAD = {
  title: 'Banking transfer service',
  uid: 'banking',
  tags: ['banking'],
  schemaVersion: 39,
  editable: true,
  refresh: '30s',
  time: { from: 'now-3h', to: 'now' },
  templating: {
    list: [
      { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus', current: {}, hide: 0 },
      {
        name: 'job',
        label: 'Job',
        type: 'query',
        datasource: SOURCE,
        query: { query: 'label_values(banking_build_info, job)', refId: 'job' },
        refresh: 2,
        multi: true,
        includeAll: true,
        current: { text: 'All', value: '$__all' },
      },
    ],
  },
  annotations: { list: [] },
};
