import type { AlertRule } from './alert-rule.js';

/** Where operators read what to do. A deployment with a copy of its own replaces it. */
const MANUAL = 'docs/observe.md';

/** The anchor of the section of an alert in the manual: its name in lower case. */
export const runbookOf = ({ name }: Pick<AlertRule, 'name'>): string => `${MANUAL}#${name.toLowerCase()}`;

const NOTE =
  '# Written by npm run watch:write. Change service-alerts.ts, work-alerts.ts or cell-alerts.ts in libs/telemetry/src/watch instead.\n';

/** A text in the single quotes of YAML. */
const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`;

/** The file of alert rules for Prometheus. */
export function renderAlerts(rules: readonly AlertRule[]): string {
  const lines = rules.flatMap((rule) => [
    `      - alert: ${rule.name}`,
    `        expr: ${quoted(rule.expr)}`,
    `        for: ${rule.for}`,
    '        labels:',
    `          severity: ${rule.severity}`,
    '        annotations:',
    `          summary: ${quoted(rule.summary)}`,
    `          runbook: ${runbookOf(rule)}`,
  ]);
  return [NOTE + 'groups:', '  - name: banking', '    rules:', ...lines, ''].join('\n');
}

/** The file of tests of these rules for `promtool test rules`: each alert fires for its series, and does not for the others. */
export function renderAlertTests(rules: readonly AlertRule[]): string {
  const lines = rules.flatMap((rule) => [...testOf(rule, 'firing'), ...testOf(rule, 'quiet')]);
  return [NOTE + 'rule_files:', '  - alerts.yaml', 'evaluation_interval: 1m', 'tests:', ...lines, ''].join('\n');
}

function testOf(rule: AlertRule, kind: 'firing' | 'quiet'): string[] {
  const { at, labels } = rule.test;
  const expected = [
    '        exp_alerts:',
    '          - exp_labels:',
    ...Object.entries({ severity: rule.severity, ...labels }).map(([name, value]) => `              ${name}: ${value}`),
    '            exp_annotations:',
    `              summary: ${quoted(rule.summary)}`,
    `              runbook: ${runbookOf(rule)}`,
  ];
  return [
    `  - name: ${rule.name} ${kind}`,
    '    interval: 1m',
    '    input_series:',
    ...Object.entries(rule.test[kind]).flatMap(([series, values]) => [
      `      - series: ${quoted(series)}`,
      `        values: ${quoted(values)}`,
    ]),
    '    alert_rule_test:',
    `      - eval_time: ${at}`,
    `        alertname: ${rule.name}`,
    ...(kind === 'firing' ? expected : ['        exp_alerts: []']),
  ];
}
