// Exits with 0 if the service or the worker of this container responds to GET /health/live, and with 1 otherwise. Liveness needs no
// database, so the loss of a database restarts no container. The service has PORT, and a worker has HEALTH_PORT.
import { get } from 'node:http';

const TIMEOUT_MS = 3_000;

const { HOST, PORT, HEALTH_HOST, HEALTH_PORT } = process.env;
const host = HEALTH_PORT ? HEALTH_HOST : HOST;
const hostname = !host || host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
const port = HEALTH_PORT || PORT || '3000';

get({ hostname, port, path: '/health/live', timeout: TIMEOUT_MS }, ({ statusCode }) => {
  process.exit(statusCode === 200 ? 0 : 1);
})
  .on('timeout', () => process.exit(1))
  .on('error', () => process.exit(1));
