import { METRICS } from '../metrics/metric-list.js';
import { ALERT_RULES } from './alert-rules.js';
import { renderDashboard } from './dashboard.js';
import { renderAlerts, renderAlertTests } from './render-alerts.js';
import { renderTables } from './render-table.js';

const [BEGIN, END] = ['<!-- metrics of npm run watch:write -->', '<!-- end of metrics -->'];

/** The files that are made of the lists of metrics and alerts, from the top of the repository, with their content. */
export const WRITTEN_FILES: Readonly<Record<string, (before: string) => string>> = {
  'deploy/prometheus/alerts.yaml': () => renderAlerts(ALERT_RULES),
  'deploy/prometheus/alerts.test.yaml': () => renderAlertTests(ALERT_RULES),
  'deploy/grafana/dashboard.json': () => renderDashboard(METRICS),
  'docs/watch.md': (before) => {
    const [head, rest] = before.split(BEGIN);
    const tail = rest?.split(END)[1];
    if (head === undefined || tail === undefined) throw new Error(`docs/watch.md lacks "${BEGIN}" or "${END}"`);
    return `${head}${BEGIN}\n\n${renderTables(METRICS)}\n\n${END}${tail}`;
  },
};
