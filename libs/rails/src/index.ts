/** Payment networks by configuration. */

export { readRails } from './rails-file.js';
export type { RailConfig } from './rail-config.js';
export { Rails } from './rails.js';
export { type CheckResult, checkConformance } from './conformance.js';
export { sandboxAdapter } from './sandbox-adapter.js';
