/** Databases with reference data or demo data, for the specs of the packages above. */
export { verifyPayments } from './verify-payments.js';
export { demoWorld, emptyWorld, openProvisioning, type World } from './worlds.js';
