import { BOTH, local, type Route, swift } from './corridor-entry.js';
import { CHF_LOCAL, EUR_LOCAL, EUR_SWIFT, GBP_LOCAL, USD_SWIFT, USD_SWIFT_FAR } from './demo-terms.js';
import { GBDSC, IBAN_REGISTRY } from './routing-sources.js';

/**
 * Europe outside the euro: the routes in a country's own currency, whether or not it is in SEPA as well,
 * and countries that SEPA does not reach. An IBAN names the account nearly everywhere.
 */
export const EUROPE: readonly Route[] = [
  local(54, 'GB', 'GBP', 'SORT CODE', GBP_LOCAL, GBDSC),
  swift(55, 'GB', 'GBP', USD_SWIFT),
  local(56, 'CH', 'CHF', 'SWIFT', CHF_LOCAL, IBAN_REGISTRY),
  swift(57, 'CH', 'CHF', EUR_SWIFT),
  local(58, 'LI', 'CHF', 'SWIFT', CHF_LOCAL, IBAN_REGISTRY),
  local(59, 'SE', 'SEK', 'SWIFT', EUR_LOCAL, IBAN_REGISTRY),
  swift(60, 'SE', 'SEK', EUR_SWIFT),
  local(61, 'NO', 'NOK', 'SWIFT', EUR_LOCAL, IBAN_REGISTRY),
  swift(62, 'NO', 'NOK', EUR_SWIFT),
  local(63, 'DK', 'DKK', 'SWIFT', EUR_LOCAL, IBAN_REGISTRY),
  swift(64, 'DK', 'DKK', EUR_SWIFT),
  local(65, 'PL', 'PLN', 'SWIFT', EUR_LOCAL, IBAN_REGISTRY),
  swift(66, 'PL', 'PLN', EUR_SWIFT),
  local(67, 'CZ', 'CZK', 'SWIFT', EUR_LOCAL, IBAN_REGISTRY),
  swift(68, 'CZ', 'CZK', EUR_SWIFT),
  local(69, 'HU', 'HUF', 'SWIFT', EUR_LOCAL, IBAN_REGISTRY),
  swift(70, 'HU', 'HUF', EUR_SWIFT),
  local(71, 'RO', 'RON', 'SWIFT', EUR_LOCAL, IBAN_REGISTRY),
  swift(72, 'RO', 'RON', EUR_SWIFT),
  local(73, 'IS', 'ISK', 'SWIFT', EUR_LOCAL, IBAN_REGISTRY, BOTH),
  local(74, 'TR', 'TRY', 'SWIFT', EUR_LOCAL, IBAN_REGISTRY),
  swift(75, 'TR', 'EUR', EUR_SWIFT),
  swift(76, 'BA', 'EUR', EUR_SWIFT),
  swift(77, 'GE', 'USD', USD_SWIFT),
  swift(78, 'AM', 'USD', USD_SWIFT),
  swift(79, 'UA', 'USD', USD_SWIFT_FAR, BOTH),
];
