/**
 * Texts that only people read. They are a separate entry, so that a page that works with amounts does not load them.
 */
export { CURRENCY_SOURCE } from './currencies.data.js';
export { CURRENCY_NAMES } from './currency-names.data.js';
