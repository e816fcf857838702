import type { SignableWebhook } from '@banking/client/webhooks';
import { type Event, webhookIdOf } from '@banking/domain';

/** What is sent for an event or a test, the same in each attempt. */
export interface WebhookMessage {
  /** The value of `webhook-id`. */
  readonly id: string;
  readonly webhook: SignableWebhook;
}

const TEST = 'webhook.test';

/** @param workspaceId of the event */
export function messageOf(workspaceId: bigint, event: Event): WebhookMessage {
  const { type, createdAt } = event;
  return { id: webhookIdOf(workspaceId, event), webhook: { type, timestamp: createdAt, data: event } };
}

/** A message without an event, by which a receiver is tried. */
export function testMessage(workspaceId: bigint, deliveryId: bigint, createdAt: string): WebhookMessage {
  const timestamp = new Date(createdAt).toISOString();
  const id = `tst_${workspaceId}_${deliveryId}_${timestamp.replaceAll(/\D/g, '')}`;
  return { id, webhook: { type: TEST, timestamp, data: {} } };
}
