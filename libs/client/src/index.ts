/** The published interface over HTTP, for whoever is not the service itself. */
export * from './banking-client.js';
export * from './errors.js';
export type { WorkspaceView } from './workspace-view.js';
