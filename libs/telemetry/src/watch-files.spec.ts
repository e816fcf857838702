import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { METRICS } from './metrics/metric-list.js';

const read = (name: string) => readFileSync(join(__dirname, '../../..', name), 'utf8');
const MANUAL = read('docs/observe.md');
const RUNBOOKS = MANUAL.slice(MANUAL.indexOf('\n## Runbooks'), MANUAL.indexOf('\n## Health'));
const [RULES_FILE, TESTS_FILE] = ['deploy/prometheus/alerts.yaml', 'deploy/prometheus/alerts.test.yaml'];
const DASHBOARD_FILE = 'deploy/grafana/dashboard.json';

interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly runbook: string };
}
const RULES = (parse(read(RULES_FILE)) as { groups: { rules: AlertRule[] }[] }).groups.flatMap(({ rules }) => rules);

/** Names of metrics in an expression, without the endings that Prometheus adds to those of a histogram. */
function metricsIn(text: string): readonly string[] {
  const names = text.match(/\b(?:banking|nodejs|process)_[a-z0-9_]+/g) ?? [];
  return [
    ...new Set(names.map((name) => (Object.hasOwn(METRICS, name) ? name : name.replace(/_(bucket|count|sum)$/, '')))),
  ];
}

const unknownIn = (text: string) => metricsIn(text).filter((name) => !Object.hasOwn(METRICS, name));

describe('the files for operators', () => {
  it.each([
    ...[RULES_FILE, TESTS_FILE, DASHBOARD_FILE].map((file) => [file, read(file)] as const),
    ['docs/observe.md', RUNBOOKS] as const,
  ])('name only metrics that exist: %s', (_file, text) => {
    expect(unknownIn(text)).toEqual([]);
  });
});

describe('the alerts', () => {
  it.each(RULES)('$alert has a severity, and a runbook with meaning, evidence and action', (rule) => {
    const section = RUNBOOKS.split(/^(?=### )/m).find((one) => one.startsWith(`### ${rule.alert}\n`)) ?? '';
    const steps = [...section.matchAll(/^- \*\*(.+?):\*\*/gm)].map(([, step]) => step);

    expect(steps).toEqual(['Meaning', 'Look at', 'Do']);
    expect(rule.annotations.runbook).toBe(`docs/observe.md#${rule.alert.toLowerCase()}`);
    expect(['critical', 'warning']).toContain(rule.labels.severity);
  });

  it('have one runbook each, and no runbook has no alert', () => {
    const titles = [...RUNBOOKS.matchAll(/^### (.+)$/gm)].map(([, title]) => title);

    expect(titles).toEqual(RULES.map(({ alert }) => alert));
  });

  it('are tested with series for which they fire, and with others', () => {
    const { tests } = parse(read(TESTS_FILE)) as { tests: { name: string }[] };

    expect(tests.map(({ name }) => name)).toEqual(RULES.flatMap(({ alert }) => [`${alert} firing`, `${alert} quiet`]));
  });
});

describe('the dashboard', () => {
  interface Panel {
    readonly id: number;
    readonly type: string;
    readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
    readonly targets?: readonly { readonly expr: string }[];
  }
  const { panels } = JSON.parse(read(DASHBOARD_FILE)) as { readonly panels: readonly Panel[] };

  it('has panels with ids of their own that do not overlap', () => {
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, cell) => `${x + (cell % w)} ${y + Math.floor(cell / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(panels.every(({ gridPos: { x, w } }) => x + w <= 24)).toBe(true);
  });

  it('shows every metric of the list, and no other', () => {
    const shown = panels.flatMap(({ targets = [] }) => targets.flatMap(({ expr }) => metricsIn(expr)));

    expect([...new Set(shown)].sort()).toEqual(Object.keys(METRICS).sort());
  });
});
