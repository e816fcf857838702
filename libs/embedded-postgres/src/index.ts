export { EmbeddedServerError } from './embedded-server-error.js';
export { attachedServers, attachEmbeddedServer, type EmbeddedServer } from './attach-embedded-server.js';
