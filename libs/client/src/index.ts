/** The client of the published interface over HTTP. */
export * from './banking-client.js';
export type { Credential, CredentialOption } from './credentials.js';
export * from './errors.js';
export type { EventMethods, FollowOptions } from './follow-events.js';
export type { Attempt, AttemptEnd, Hooks, Retry } from './hooks.js';
export type { Inspect, Success } from './read-response.js';
export type { TraceContext, TraceContextSource } from './trace-context.js';
export type { CallOptions, CreationOptions, RawResponse, TransportRequest, Transport } from './transport.js';
export type {
  AppMethods,
  CorridorMethods,
  InvitationMethods,
  ProductMethods,
  PurposeMethods,
  RecipientSchemaMethods,
  ListMethods,
  WorkspaceView,
} from './workspace-view.js';
export { type CreationResult, RemoteBankingService } from './remote-banking-service.js';
export type { ServiceAccountKeyMethods, ServiceAccountMethods } from './service-account-methods.js';
export type { WebhookMethods } from './webhook-methods.js';
export type { NamedOrder, OrderWaitOptions } from './wait-for-order.js';
