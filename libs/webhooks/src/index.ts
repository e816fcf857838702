export { type AddressPolicy, networksOf } from './address-policy.js';
export { openSealer, type SealerSettings } from './open-sealer.js';
export { SealError, secretSealer, type SealContext, type SecretSealer } from './secret-sealer.js';
export { refusedUrl, type UrlRefusal } from './url-policy.js';
export { WebhookDelivery, type WebhookDeliveryOptions } from './webhook-delivery.js';
export { type WebhookAttemptMessage, webhookChannel } from './webhook-channels.js';
