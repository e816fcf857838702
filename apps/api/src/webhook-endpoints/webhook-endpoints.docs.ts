import type { OperationText } from '../access/operation.decorator.js';
import { paragraphs } from '../http/paragraphs.js';

export const WEBHOOK_ENDPOINT_ID = [
  'webhookEndpointId',
  'A webhook endpoint of the workspace. The response is the same for one of another workspace and one that does not exist.',
] as const;
export const WEBHOOK_DELIVERY_ID = ['webhookDeliveryId', 'A delivery of the endpoint.'] as const;

export const createWebhookEndpoint: OperationText = {
  summary: 'Create a webhook endpoint',
  description: paragraphs(
    'Creates an address that receives the events of the workspace, from now on, as signed requests of [Standard Webhooks](https://www.standardwebhooks.com).',
    'A workspace has 20 endpoints at most.',
    '',
    'The response shows the `secret` once. The service stores it encrypted and never shows it again:',
    'the replay of a request with the same `Idempotency-Key` has no `secret`. If you lost the response, make a new secret.',
  ),
  provenance: 'ours',
  refusals: ['webhook_url_refused', 'webhook_endpoint_limit', 'webhooks_unavailable'],
  body: 'creates',
};

export const listWebhookEndpoints: OperationText = {
  summary: 'List webhook endpoints',
  description: 'Lists the webhook endpoints of the workspace, newest first, without their secrets.',
  provenance: 'ours',
  refusals: [],
  isPaged: true,
};

export const getWebhookEndpoint: OperationText = {
  summary: 'Retrieve a webhook endpoint',
  description: 'Returns one webhook endpoint without its secret.',
  provenance: 'ours',
  refusals: ['id_malformed', 'webhook_endpoint_not_found'],
};

export const changeWebhookEndpoint: OperationText = {
  summary: 'Change, disable or enable a webhook endpoint',
  description: paragraphs(
    'Changes the address, types or description of an endpoint, disables it, or enables it again. Omitted fields stay unchanged.',
    '',
    'An endpoint that is enabled again continues with the first event that was not delivered.',
    'Nothing is lost while it is disabled, as long as the deployment keeps the events.',
  ),
  provenance: 'ours',
  refusals: ['id_malformed', 'webhook_endpoint_not_found', 'webhook_url_refused', 'webhooks_unavailable'],
  body: 'changes',
};

export const deleteWebhookEndpoint: OperationText = {
  summary: 'Delete a webhook endpoint',
  description: paragraphs(
    'Deletes an endpoint and its secret permanently. Its pending deliveries are not sent.',
    'A second deletion fails with 404, so after a lost response a 404 means that the endpoint is deleted.',
  ),
  provenance: 'ours',
  refusals: ['id_malformed', 'webhook_endpoint_not_found'],
};

export const rotateWebhookSecret: OperationText = {
  summary: 'Rotate the secret of a webhook endpoint',
  description: paragraphs(
    'Makes a new secret, and shows it once.',
    'The former secret signs too for 24 hours, so receivers can change it meanwhile.',
    'Another rotation within that time ends the secret before the last one.',
  ),
  provenance: 'ours',
  refusals: ['id_malformed', 'webhook_endpoint_not_found', 'webhooks_unavailable'],
};

export const testWebhookEndpoint: OperationText = {
  summary: 'Test a webhook endpoint',
  description: paragraphs(
    'Sends an event of the type `webhook.test`, which has no resource, to the endpoint shortly after the response.',
    'The list of deliveries shows the result.',
  ),
  provenance: 'ours',
  refusals: ['id_malformed', 'webhook_endpoint_not_found', 'webhook_endpoint_disabled', 'webhook_delivery_limit'],
};

export const replayWebhookEvents: OperationText = {
  summary: 'Replay events',
  description: paragraphs(
    'Delivers the events of a period again that the endpoint has a type of, whether they were delivered before or not.',
    'A receiver recognises a repeated event by its `webhook-id`.',
    'A period may have 10,000 events of the workspace at most. A workspace has one replay at a time: the next one may follow when each ' +
      'delivery was attempted.',
  ),
  provenance: 'ours',
  refusals: [
    'id_malformed',
    'timestamp_invalid',
    'webhook_endpoint_not_found',
    'webhook_endpoint_disabled',
    'webhook_replay_limit',
    'webhook_delivery_limit',
  ],
  body: 'changes',
};

export const listWebhookDeliveries: OperationText = {
  summary: 'List deliveries',
  description: paragraphs(
    'Lists the deliveries of an endpoint, newest first, each with its last attempt.',
    'Deliveries are kept as long as events.',
  ),
  provenance: 'ours',
  refusals: ['id_malformed', 'parameter_invalid', 'webhook_endpoint_not_found'],
  isPaged: true,
};

export const retryWebhookDelivery: OperationText = {
  summary: 'Retry a delivery',
  description: 'Makes a pending or failed delivery due now: one more attempt follows shortly after.',
  provenance: 'ours',
  refusals: [
    'id_malformed',
    'webhook_endpoint_not_found',
    'webhook_delivery_not_found',
    'webhook_endpoint_disabled',
    'webhook_delivered',
    'webhook_delivery_limit',
    'event_not_found',
  ],
};
