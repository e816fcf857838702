export { type OpenWebhooks, openWebhooks } from './open-webhooks.js';
export { COUNT_BACKLOG, type WebhookBacklog } from './count-backlog.js';
export { deleteOldDeliveries } from './old-deliveries.js';
export { SealError, type SecretSealer } from './secret-sealer.js';
export { refusedUrl } from './url-policy.js';
export { WebhookDelivery, type WebhookDeliveryOptions } from './webhook-delivery.js';
export { type WebhookAttemptMessage, webhookChannel } from './webhook-channels.js';
