/**
 * What is only read by people, and weighs more than the words: an entry of its own, so that a page which works with
 * amounts and refusals does not load it.
 */
export { CURRENCY_SOURCE } from './currencies.data.js';
export { CURRENCY_NAMES } from './currency-names.data.js';
export { REFUSAL_ACTIONS } from './refusal-actions.js';
