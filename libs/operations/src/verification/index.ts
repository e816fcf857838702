export { PAYMENT_CHECKS, verifyPayments } from './verify-payments.js';
export type { VerifyOptions } from './verify-ranges.js';
export { DIRECTORY_CHECK, verifyDirectory } from './verify-trails.js';
export * from './hashed-rows.js';
