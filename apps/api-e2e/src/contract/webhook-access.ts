import type { Case } from './access-case.js';

const UNKNOWN = '/webhook-endpoints/999999';
const PERIOD = { createdFrom: '2026-11-21T09:00:00Z', createdTo: '2026-11-21T10:00:00Z' };

/** An operation that only administrators may call, of an endpoint that does not exist. */
const ofEndpoint = (operation: string, path: string, more: Partial<Case> = {}): readonly Case[] =>
  [
    { workspace: 'Northwind Trading', expected: [404, 403, 403, 403, 401, 401] as const },
    { workspace: 'Southwind Imports', expected: [403, 403, 403, 404, 401, 401] as const },
  ].map((where) => ({ operation, path: () => path, ...more, ...where }));

/** The webhook operations, all of which are for administrators. */
export const WEBHOOK_ACCESS: readonly Case[] = [
  {
    operation: 'listWebhookEndpoints',
    path: () => '/webhook-endpoints',
    workspace: 'Northwind Trading',
    expected: [200, 403, 403, 403, 401, 401],
  },
  {
    operation: 'listWebhookEndpoints',
    path: () => '/webhook-endpoints',
    expected: [400, 400, 400, 400, 401, 401],
  },
  {
    operation: 'createWebhookEndpoint',
    path: () => '/webhook-endpoints',
    workspace: 'Northwind Trading',
    body: {},
    expected: [400, 403, 403, 403, 401, 401],
  },
  {
    operation: 'createWebhookEndpoint',
    path: () => '/webhook-endpoints',
    workspace: 'Southwind Imports',
    body: { url: 'http://hooks.example' },
    expected: [403, 403, 403, 422, 401, 401],
  },
  ...ofEndpoint('getWebhookEndpoint', UNKNOWN),
  ...ofEndpoint('changeWebhookEndpoint', UNKNOWN, { method: 'PATCH', body: { status: 'disabled' } }),
  ...ofEndpoint('deleteWebhookEndpoint', UNKNOWN, { method: 'DELETE' }),
  ...ofEndpoint('rotateWebhookSecret', `${UNKNOWN}/secret-rotation`, { method: 'POST' }),
  ...ofEndpoint('testWebhookEndpoint', `${UNKNOWN}/test`, { method: 'POST' }),
  ...ofEndpoint('replayWebhookEvents', `${UNKNOWN}/replay`, { body: PERIOD }),
  ...ofEndpoint('listWebhookDeliveries', `${UNKNOWN}/deliveries`),
  ...ofEndpoint('retryWebhookDelivery', `${UNKNOWN}/deliveries/1/retry`, { method: 'POST' }),
];
