export { EmbeddedServerError } from './embedded-server-error.js';
export { joinEmbeddedServer, type EmbeddedServer } from './join-embedded-server.js';
