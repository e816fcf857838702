export * from './apps.js';
export * from './events.js';
export * from './fundings.js';
export * from './grants.js';
export * from './moves.js';
export * from './orders.js';
export { ProvisioningError } from './trail.js';
export * from './users.js';
export * from './workspaces.js';
