import type { SignableWebhook } from '@banking/client/webhooks';
import { type Event, webhookIdOf } from '@banking/domain';
import type { DueRow, StoredEvent } from './delivery-store.js';

/** What is sent for an event or a test, the same in each attempt. */
interface WebhookMessage {
  /** The value of `webhook-id`. */
  readonly id: string;
  readonly webhook: SignableWebhook;
}

const TEST = 'webhook.test';

/** @param workspaceId of the event */
function messageOf(workspaceId: bigint, event: Event): WebhookMessage {
  const { type, createdAt } = event;
  return { id: webhookIdOf(workspaceId, event), webhook: { type, timestamp: createdAt, data: event } };
}

/** A message without an event, by which a receiver is tried. */
function testMessage(workspaceId: bigint, deliveryId: bigint, createdAt: string): WebhookMessage {
  const timestamp = new Date(createdAt).toISOString();
  const id = `tst_${workspaceId}_${deliveryId}_${timestamp.replaceAll(/\D/g, '')}`;
  return { id, webhook: { type: TEST, timestamp, data: {} } };
}

/** A delivery in memory. */
export interface DeliveryItem {
  /** The resource whose events are sent one after another. */
  readonly resource: string;
  readonly message: WebhookMessage;
  readonly kind: string;
  /** Undefined for the first attempt of an event. */
  readonly deliveryId?: bigint;
  readonly eventId?: bigint;
  readonly eventType?: string;
  /** That were made before. */
  readonly attempts: number;
}

/** Makes the items of a workspace. */
export class DeliveryItems {
  constructor(
    private readonly workspaceId: bigint,
    private readonly composeEvent: (event: StoredEvent) => Event,
  ) {}

  ofEvent(event: StoredEvent): DeliveryItem {
    return { ...this.sent(event), kind: 'event', eventId: event.id, eventType: event.type, attempts: 0 };
  }

  /** Undefined if the event was deleted. */
  ofDue(row: DueRow): DeliveryItem | undefined {
    const { deliveryId, kind, attempts, deliveryCreatedAt } = row;
    const due = { deliveryId, kind, attempts };
    if (kind === 'test') {
      const message = testMessage(this.workspaceId, deliveryId, deliveryCreatedAt);
      return { ...due, resource: `test ${deliveryId}`, message };
    }
    return row.id === null ? undefined : { ...due, ...this.sent(row) };
  }

  private sent(event: StoredEvent) {
    const { resourceType, resourceId } = event;
    const message = messageOf(this.workspaceId, this.composeEvent(event));
    return { resource: `${resourceType} ${resourceId}`, message };
  }
}
