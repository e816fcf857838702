export { migrateDeployment, missingMigrations } from './migrate-deployment.js';
export * from './open-deployment.js';
export { isOperatorError } from './operator-errors.js';
