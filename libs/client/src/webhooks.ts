/** Webhooks for a receiver: their verification, and signed ones for its tests. A separate entry, because no client needs it. */
export { signWebhook, type SignableWebhook, type SignedWebhook, type SignWebhookOptions } from './sign-webhook.js';
export { verifyWebhook, type VerifyWebhookOptions, type WebhookHeaders } from './verify-webhook.js';
export * from './webhook-error.js';
export type { Webhook, WebhookEvent, WebhookTest } from './webhook-message.js';
