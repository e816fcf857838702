import { channel, type Channel } from 'node:diagnostics_channel';

/** A request to an endpoint that ended. */
export interface WebhookAttemptMessage {
  readonly outcome: 'delivered' | 'failed';
  readonly seconds: number;
}

/** Publishes each request to an endpoint, for metrics. */
export const webhookChannel = channel('banking:webhooks') as Channel<unknown, WebhookAttemptMessage>;
