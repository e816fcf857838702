import { WORKER, type AlertRule } from './alert-rule.js';

const OLDEST = 'banking_events_oldest_unrecorded_seconds';

/** Alerts of the record of changes. */
export const EVENT_ALERTS: readonly AlertRule[] = [
  {
    name: 'EventsLate',
    severity: 'critical',
    expr: `max by (cell) (${OLDEST}) > 30`,
    for: '1m',
    summary: 'Changes are not events after 30 seconds.',
    test: {
      firing: { [`${OLDEST}{${WORKER}}`]: '0 40+60x10' },
      quiet: { [`${OLDEST}{${WORKER}}`]: '20x10' },
      at: '5m',
      labels: {},
    },
  },
];
