export { ReplicaServer } from './replica-server.js';
export { TlsServer } from './tls-server.js';
export { until } from './until.js';
