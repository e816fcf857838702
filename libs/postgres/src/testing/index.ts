/** A server for a test run, and a separate database for each spec. */

export { until } from '@banking/embedded-postgres/testing';
export {
  analyzeTables,
  emptyDatabase,
  freshDatabase,
  asLogin,
  openDatabase,
  type FreshDatabase,
  type Preparation,
  copyDataDirTemplate,
  makeDataDirTemplate,
  administer,
} from './fresh-database.js';
export { startTestServer } from './start-test-server.js';
export { Wire } from './wire.js';
export { keepRows, plant } from './planted-faults.js';
export { PlanProbe } from './plan-probe.js';
export { Interleaving, type CommitFate } from './interleaving.js';

export { NOT_DATE } from './process-clock.js';
export { reasonOf } from './reason-of.js';
export { sql } from './sql.js';
export { testOrProve } from './test-or-prove.js';
