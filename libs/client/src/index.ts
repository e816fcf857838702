/** The published interface over HTTP, for whoever is not the service itself. */
export * from './banking-client.js';
export type { Made } from './calls.js';
export type { Credential, CredentialOption } from './credentials.js';
export * from './errors.js';
export type { Attempt, AttemptEnd, Hooks, Retry } from './hooks.js';
export type { Inspect, Success } from './read-answer.js';
export type { CallOptions, CreationOptions, RawAnswer, RequestSigner, Sending, SignableRequest, Transport } from './sending.js'; // prettier-ignore
export type { Listing, WorkspaceView } from './workspace-view.js';
