export { PAYMENT_CHECKS, verifyPayments } from './verify-payments.js';
export type { VerifyOptions } from './verify-ranges.js';
export { DIRECTORY_CHECK, verifyDirectory } from './verify-trails.js';
export {
  CONVERSION_JSON,
  conversionFrom,
  type ConversionJson,
  personOf,
  RECIPIENT_JSON,
  recipientFrom,
  type RecipientJson,
  type StoredOrder,
  textsOf,
} from './verify-digests.js';
export { contentOfRow } from '../resources/compose-order.js';
