import { WORKER, type AlertRule } from './alert-rule.js';

const OLDEST = 'banking_audit_oldest_unrecorded_seconds';

/** Alerts of the audit trail. */
export const AUDIT_ALERTS: readonly AlertRule[] = [
  {
    name: 'AuditLate',
    severity: 'critical',
    expr: `max by (cell) (${OLDEST}) > 60`,
    for: '5m',
    summary: 'Changes are not in the audit trail after a minute.',
    test: {
      firing: { [`${OLDEST}{${WORKER}}`]: '0 70+60x10' },
      quiet: { [`${OLDEST}{${WORKER}}`]: '40x10' },
      at: '8m',
      labels: {},
    },
  },
];
