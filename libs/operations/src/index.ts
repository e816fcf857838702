export { readDemoWorld, type DemoWorld } from './demo-world/world.js';
export * from './ledger-banking-service.js';
export * from './ledger-directory.js';
export { MIGRATIONS } from './migrations.js';
export * from './open-deployment.js';
export { DEMO_RATES } from './rates/demo-rate-source.js';
export { HttpRateSource } from './rates/http-rate-source.js';
export * from './provisioning/index.js';
export * from './verify-payments.js';
