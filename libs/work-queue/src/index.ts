export * from './claims.js';
export * from './run-claimed-work.js';
export * from './open-work.js';
export * from './release-work.js';
export * from './list-work.js';
export { TRIES_MAX } from './work-retry-policies.js';
export * from './transient-failure.js';
export { COUNT_PARKED, OLDEST_DUE } from './work-status.js';
export * from './worker.js';
