export { EmbeddedServerError } from './embedded-server-error.js';
export { joinEmbeddedServer, type EmbeddedServer, type EmbeddedServerOptions } from './join-embedded-server.js';
