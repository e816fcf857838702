import { gauge } from './metric.js';

/** Metrics of the audit trail. */
export const AUDIT_METRICS = {
  banking_audit_unrecorded: gauge(
    'Audit',
    ['cell'],
    'Committed changes that are not in the audit trail yet, by batch; 10000 means that or more.',
  ),
  banking_audit_oldest_unrecorded_seconds: gauge('Audit', ['cell'], 'Age of the oldest of them.'),
} as const;
