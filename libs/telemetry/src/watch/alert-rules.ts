import type { AlertRule } from './alert-rule.js';
import { AUDIT_ALERTS } from './audit-alerts.js';
import { CELL_ALERTS } from './cell-alerts.js';
import { EVENT_ALERTS } from './event-alerts.js';
import { SERVICE_ALERTS } from './service-alerts.js';
import { WEBHOOK_ALERTS } from './webhook-alerts.js';
import { WORK_ALERTS } from './work-alerts.js';

/** The alerts of a deployment whose jobs in Prometheus begin with `banking-`. */
export const ALERT_RULES: readonly AlertRule[] = [
  ...SERVICE_ALERTS,
  ...WORK_ALERTS,
  ...EVENT_ALERTS,
  ...AUDIT_ALERTS,
  ...WEBHOOK_ALERTS,
  ...CELL_ALERTS,
];
