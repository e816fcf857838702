import type { Event, EventType, Open, Timestamp } from '@banking/domain';

/** The body of a webhook about an event. */
export interface WebhookEvent {
  readonly type: Open<EventType>;
  /** The time of the event. The header `webhook-timestamp` has the time of the attempt. */
  readonly timestamp: Timestamp;
  /** The event as `GET /events/{eventId}` returns it. It has no amounts or names: read the resource. */
  readonly data: Event;
}

/** The body of a webhook that a user requested to test an endpoint. */
export interface WebhookTest {
  readonly type: 'webhook.test';
  readonly timestamp: Timestamp;
  readonly data: Readonly<Record<string, never>>;
}

/** The body of a webhook. Without a test, `type !== 'webhook.test'`, it is a {@link WebhookEvent}. */
export type Webhook = WebhookEvent | WebhookTest;

/** The id of a webhook. Without a full stop, so that only one id, time and body have a signed content. */
export const WEBHOOK_ID = /^[A-Za-z0-9_-]{1,256}$/;

/** What is signed: id, seconds since 1970 and body, with full stops between them. */
export function signedContent(id: string, seconds: string, body: Uint8Array): Uint8Array<ArrayBuffer> {
  const head = new TextEncoder().encode(`${id}.${seconds}.`);
  const content = new Uint8Array(head.byteLength + body.byteLength);
  content.set(head);
  content.set(body, head.byteLength);
  return content;
}
