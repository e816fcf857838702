import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { METRICS } from '../metrics/metric-list.js';
import { ALERT_RULES } from './alert-rules.js';
import { WRITTEN_FILES } from './files.js';
import { runbookOf } from './render-alerts.js';

const ROOT = join(__dirname, '..', '..', '..', '..');
const read = (name: string) => readFileSync(join(ROOT, name), 'utf8');
const MANUAL = read('docs/observe.md');
const RUNBOOKS = MANUAL.slice(MANUAL.indexOf('\n## Runbooks'), MANUAL.indexOf('\n## Health'));

/** Names of metrics in an expression, without the endings that Prometheus adds to those of a histogram. */
function metricsIn(text: string): readonly string[] {
  const names = text.match(/\b(?:banking|nodejs|process)_[a-z0-9_]+/g) ?? [];
  return [
    ...new Set(names.map((name) => (Object.hasOwn(METRICS, name) ? name : name.replace(/_(bucket|count|sum)$/, '')))),
  ];
}

const unknownIn = (text: string) => metricsIn(text).filter((name) => !Object.hasOwn(METRICS, name));

/** The section of the manual with this heading. */
const sectionOf = (title: string) =>
  RUNBOOKS.split(/^(?=### )/m).find((section) => section.startsWith(`### ${title}\n`));

describe('the files that are made of the lists of metrics and alerts', () => {
  it.each(Object.entries(WRITTEN_FILES))('include %s as npm run watch:write writes it', (name, contentOf) => {
    expect(read(name)).toBe(contentOf());
  });

  it('name only metrics of the list', () => {
    expect(unknownIn(RUNBOOKS)).toEqual([]);
    for (const { name, expr, test } of ALERT_RULES) {
      const series = [...Object.keys(test.firing), ...Object.keys(test.quiet)];
      expect({ name, unknown: unknownIn([expr, ...series].join(' ')) }).toEqual({ name, unknown: [] });
    }
  });
});

describe('the alerts', () => {
  it.each(ALERT_RULES)('$name has a runbook with meaning, evidence and action', (rule) => {
    const section = sectionOf(rule.name);

    expect(section).toBeDefined();
    const steps = [...section!.matchAll(/^- \*\*(.+?):\*\*/gm)].map(([, step]) => step);
    expect(steps).toEqual(['Meaning', 'Look at', 'Do']);
    expect(runbookOf(rule)).toBe(`docs/observe.md#${rule.name.toLowerCase()}`);
  });

  it('have one runbook each, and no runbook has no alert', () => {
    const titles = [...RUNBOOKS.matchAll(/^### (.+)$/gm)].map(([, title]) => title);

    expect(titles).toEqual(ALERT_RULES.map(({ name }) => name));
  });
});

describe('the dashboard', () => {
  interface Panel {
    readonly id: number;
    readonly type: string;
    readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
    readonly targets?: readonly { readonly expr: string }[];
  }
  const { panels } = JSON.parse(read('deploy/grafana/dashboard.json')) as { readonly panels: readonly Panel[] };

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
