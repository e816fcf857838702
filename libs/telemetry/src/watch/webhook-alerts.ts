import { WORKER, type AlertRule } from './alert-rule.js';

const OLDEST = 'banking_webhook_oldest_undelivered_seconds';

/** Alerts of the delivery of webhooks. */
export const WEBHOOK_ALERTS: readonly AlertRule[] = [
  {
    name: 'WebhooksLate',
    severity: 'warning',
    expr: `max by (cell) (${OLDEST}) > 120`,
    for: '5m',
    summary: 'Events wait for an enabled webhook endpoint for more than two minutes.',
    test: {
      firing: { [`${OLDEST}{${WORKER}}`]: '0 130+60x20' },
      quiet: { [`${OLDEST}{${WORKER}}`]: '60x20' },
      at: '12m',
      labels: {},
    },
  },
];
