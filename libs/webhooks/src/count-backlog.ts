import { sqlStatement } from '@banking/postgres';

/** The endpoints by status, and what they wait for. */
export interface WebhookBacklog {
  readonly enabled: number;
  readonly failing: number;
  readonly disabled: number;
  /** Deliveries whose next attempt is due, up to 10,000. */
  readonly due: number;
  /** Age of the oldest event behind the cursor of an enabled endpoint, in seconds. */
  readonly seconds: number;
}

/** Over all workspaces of a database. Reads a bounded number of rows for each endpoint. */
export const COUNT_BACKLOG = sqlStatement<WebhookBacklog>(
  'count_webhook_backlog',
  'select enabled, failing, disabled, due, oldest_seconds as seconds from webhook_backlog()',
);
