import { BOTH, local, type Route, swift } from './corridor-entry.js';
import { EUR_SWIFT, KWD_LOCAL, USD_LOCAL, USD_SWIFT, USD_SWIFT_FAR } from './demo-terms.js';
import { IBAN_REGISTRY, KE_CBK, NGBCS, ZANCC } from './routing-sources.js';

/**
 * The Gulf, the Middle East, Central Asia and Africa. In the Gulf an IBAN names the account also at home,
 * and the BIC beside it names the bank.
 */
export const MIDDLE_EAST_AND_AFRICA: readonly Route[] = [
  local(167, 'KW', 'KWD', 'SWIFT', KWD_LOCAL, IBAN_REGISTRY),
  swift(168, 'KW', 'KWD', USD_SWIFT),
  local(169, 'AE', 'AED', 'SWIFT', USD_LOCAL, IBAN_REGISTRY),
  swift(170, 'AE', 'AED', USD_SWIFT),
  local(171, 'SA', 'SAR', 'SWIFT', USD_LOCAL, IBAN_REGISTRY),
  swift(172, 'SA', 'SAR', USD_SWIFT),
  local(173, 'QA', 'QAR', 'SWIFT', USD_LOCAL, IBAN_REGISTRY),
  swift(174, 'QA', 'QAR', USD_SWIFT),
  local(175, 'BH', 'BHD', 'SWIFT', USD_LOCAL, IBAN_REGISTRY),
  swift(176, 'BH', 'BHD', USD_SWIFT),
  local(177, 'JO', 'JOD', 'SWIFT', USD_LOCAL, IBAN_REGISTRY),
  swift(178, 'JO', 'JOD', USD_SWIFT),
  local(179, 'IL', 'ILS', 'SWIFT', USD_LOCAL, IBAN_REGISTRY),
  swift(180, 'IL', 'ILS', USD_SWIFT),
  local(181, 'EG', 'EGP', 'SWIFT', USD_LOCAL, IBAN_REGISTRY, ['Corporate']),
  swift(182, 'EG', 'USD', USD_SWIFT_FAR),
  swift(183, 'OM', 'OMR', USD_SWIFT),
  swift(184, 'KZ', 'USD', USD_SWIFT_FAR),
  local(185, 'ZA', 'ZAR', 'BRANCH CODE', USD_LOCAL, ZANCC),
  swift(186, 'ZA', 'ZAR', USD_SWIFT),
  local(187, 'NG', 'NGN', 'BANK CODE', USD_LOCAL, NGBCS),
  swift(188, 'NG', 'USD', USD_SWIFT_FAR, BOTH),
  local(189, 'KE', 'KES', 'BANK CODE', USD_LOCAL, KE_CBK),
  swift(190, 'KE', 'USD', USD_SWIFT_FAR),
  swift(191, 'GH', 'USD', USD_SWIFT_FAR),
  swift(192, 'MA', 'EUR', EUR_SWIFT),
  swift(193, 'MU', 'USD', USD_SWIFT_FAR),
  swift(194, 'TN', 'EUR', EUR_SWIFT),
  swift(195, 'TZ', 'USD', USD_SWIFT_FAR),
  swift(196, 'UG', 'USD', USD_SWIFT_FAR, ['Corporate']),
];
