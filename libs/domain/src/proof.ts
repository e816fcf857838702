/**
 * The content of a transaction's hash, and the proof of an export of the books, for customers and auditors. A separate entry,
 * so that a payment page does not load it.
 */
export * from './canonical-json.js';
export {
  DETAILS,
  EXPORT_FORMAT,
  EXPORT_VERSION,
  type ExportedAccount,
  type ExportedConversion,
  type ExportedEvent,
  type ExportedExecution,
  type ExportedOrder,
  type ExportedRecipient,
  type ExportedTransaction,
  type ExportEnd,
  type ExportHeader,
  type ExportLine,
  exportLine,
} from './export-lines.js';
export { type ErasableStatements, ORDER_STATEMENT_NAMES } from './order-statements.js';
export {
  canonicalConversion,
  canonicalDescription,
  canonicalOrder,
  canonicalOrderTexts,
  canonicalRequest,
  canonicalPerson,
  canonicalRecipient,
  canonicalTransaction,
  type ChainLink,
  digestOf,
  HASH_VERSION,
  type HashedConversion,
  type HashedOrder,
  type HashedRecipient,
  type OrderTexts,
  type RecipientPerson,
  type TransactionContent,
  transactionHash,
  type TransferContent,
  type TransferText,
} from './transaction-hash.js';
export * from './lines-of.js';
export * from './prove-export.js';
