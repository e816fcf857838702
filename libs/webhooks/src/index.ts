export { type OpenWebhooks, openWebhooks } from './open-webhooks.js';
export { HttpDecisionHook } from './decision-hook.js';
export { COUNT_BACKLOG, type WebhookBacklog } from './count-backlog.js';
export { deleteOldDeliveries } from './old-deliveries.js';
export { SealError } from './secret-sealer.js';
export { refusedUrl } from './url-policy.js';
export { WebhookDelivery } from './webhook-delivery.js';
export { webhookChannel } from './webhook-channels.js';
