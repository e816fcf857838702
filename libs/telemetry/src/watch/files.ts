import { METRICS } from '../metrics/metric-list.js';
import { ALERT_RULES } from './alert-rules.js';
import { renderDashboard } from './dashboard.js';
import { renderAlerts, renderAlertTests } from './render-alerts.js';

/** The files that are made of the lists of metrics and alerts, from the top of the repository, with their content. */
export const WRITTEN_FILES: Readonly<Record<string, () => string>> = {
  'deploy/prometheus/alerts.yaml': () => renderAlerts(ALERT_RULES),
  'deploy/prometheus/alerts.test.yaml': () => renderAlertTests(ALERT_RULES),
  'deploy/grafana/dashboard.json': () => renderDashboard(METRICS),
};
