/** Databases with reference data or demo data, for the specs of the packages above. */
export { recipientAbroad, recipientLike, verifyPayments } from './order-world.js';
export { demoDatabase } from './test-databases.js';
export { amountOf, crossingWorld, type CrossingWorld } from './crossing-world.js';
export { personalWorld, type PersonalWorld } from './personal-world.js';
