export { TlsServer } from './tls-server.js';
