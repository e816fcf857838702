import { createHmac } from 'node:crypto';
import { type Event, webhookIdOf } from '@banking/domain';

/** What is sent for an event or a test, the same in each attempt. */
export interface WebhookMessage {
  /** The value of `webhook-id`. */
  readonly id: string;
  readonly body: string;
}

const TEST = 'webhook.test';

/** @param workspaceId of the event */
export function messageOf(workspaceId: bigint, event: Event): WebhookMessage {
  const { type, createdAt } = event;
  return { id: webhookIdOf(workspaceId, event), body: JSON.stringify({ type, timestamp: createdAt, data: event }) };
}

/** A message without an event, by which a receiver is tried. */
export function testMessage(workspaceId: bigint, deliveryId: bigint, createdAt: string): WebhookMessage {
  const timestamp = new Date(createdAt).toISOString();
  const id = `tst_${workspaceId}_${deliveryId}_${timestamp.replaceAll(/\D/g, '')}`;
  return { id, body: JSON.stringify({ type: TEST, timestamp, data: {} }) };
}

/** The headers of Standard Webhooks, with a signature by each secret. The time is that of the attempt. */
export function headersOf(
  { id, body }: WebhookMessage,
  secrets: readonly Uint8Array[],
): Readonly<Record<string, string>> {
  const timestamp = Math.floor(Date.now() / 1_000);
  const content = `${id}.${timestamp}.${body}`;
  const signatures = secrets.map((secret) => `v1,${createHmac('sha256', secret).update(content).digest('base64')}`);
  return {
    'Content-Type': 'application/json',
    'User-Agent': 'banking-webhooks/1',
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signatures.join(' '),
  };
}
