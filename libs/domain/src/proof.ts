/**
 * The content of a transaction's hash, and the proof of an export of the books, for customers and auditors. A separate entry,
 * so that a payment page does not load it.
 */
export * from './canonical-json.js';
export * from './export-lines.js';
export * from './transaction-hash.js';
export * from './lines-of.js';
export * from './prove-export.js';
export * from './transaction-hash.js';
