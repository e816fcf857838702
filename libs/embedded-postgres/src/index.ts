export { EmbeddedServerError } from './embedded-server-error.js';
export { attachEmbeddedServer, type EmbeddedServer } from './attach-embedded-server.js';
