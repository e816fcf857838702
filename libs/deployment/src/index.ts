export { migrateDeployment, missingMigrations, planDeployment, type SchemaSettings } from './migrate-deployment.js';
export * from './open-deployment.js';
export { RELEASE } from './release.js';
export { isOperatorError } from './operator-errors.js';
