import { gauge } from './metric.js';

/** Metrics of the record of changes. */
export const EVENT_METRICS = {
  banking_events_unrecorded: gauge(
    'Events',
    ['cell'],
    'Statements whose changes are not events yet; 10000 means that or more.',
  ),
  banking_events_oldest_unrecorded_seconds: gauge('Events', ['cell'], 'Age of the oldest of them.'),
} as const;
