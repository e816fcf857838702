import { gauge, histogram } from './metric.js';

const REQUEST_S = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15];

/** Metrics of the delivery of webhooks. */
export const WEBHOOK_METRICS = {
  banking_webhook_request_duration_seconds: histogram(
    'Webhooks',
    ['outcome'],
    REQUEST_S,
    'Requests to endpoints of webhooks. Outcome: delivered or failed.',
  ),
  banking_webhook_endpoints: gauge('Webhooks', ['status', 'cell'], 'Endpoints that are enabled, failing or disabled.'),
  banking_webhook_deliveries_due: gauge(
    'Webhooks',
    ['cell'],
    'Deliveries whose next attempt is due; 10000 means that or more.',
  ),
  banking_webhook_oldest_undelivered_seconds: gauge(
    'Webhooks',
    ['cell'],
    'Age of the oldest event behind the cursor of an enabled endpoint.',
  ),
} as const;
