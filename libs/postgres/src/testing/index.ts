/** A real server for a whole test run, and a database of its own for each spec that asks. */

export { freshDatabase, type FreshDatabase } from './fresh-database.js';
export { administer } from './published.js';
export { startTestServer } from './start-test-server.js';
export { Wire } from './wire.js';
export { PlanProbe } from './plan-probe.js';
export { TlsServer } from './tls-server.js';
