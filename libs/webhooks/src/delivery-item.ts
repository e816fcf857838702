import type { Event } from '@banking/domain';
import type { DueRow, StoredEvent } from './delivery-store.js';
import { messageOf, testMessage, type WebhookMessage } from './webhook-message.js';

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
