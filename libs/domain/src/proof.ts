/**
 * What a transaction's hash is made of, and proving an export of the books, for whoever does not take a bank's word for
 * them: an entry of its own, since a page that pays need not load it.
 */
export * from './canonical-json.js';
export * from './export-lines.js';
export * from './lines-of.js';
export * from './prove-export.js';
export * from './transaction-hash.js';
