/**
 * Proving an export of the books, for whoever does not take a bank's word for them: an entry of its own, since a page that pays
 * need not load it. `transactionHash` and `canonicalTransaction` are in the main entry.
 */
export * from './export-lines.js';
export * from './lines-of.js';
export * from './prove-export.js';
