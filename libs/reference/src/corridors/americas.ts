import { BOTH, local, type Route, swift } from './corridor-entry.js';
import { USD_LOCAL, USD_SWIFT, USD_SWIFT_FAR } from './demo-terms.js';
import { BR_STR, CACPA, CL_CMF, MX_SPEI, USABA } from './routing-sources.js';

/** North and South America. Where a currency is not delivered abroad, the SWIFT route carries US dollars. */
export const AMERICAS: readonly Route[] = [
  local(37, 'US', 'USD', 'ACH CODE', USD_LOCAL, USABA),
  swift(38, 'US', 'USD', USD_SWIFT),
  local(39, 'BR', 'BRL', 'BRANCH CODE', USD_LOCAL, BR_STR),
  swift(40, 'BR', 'USD', USD_SWIFT),
  local(41, 'CA', 'CAD', 'BRANCH CODE', USD_LOCAL, CACPA),
  swift(42, 'CA', 'CAD', USD_SWIFT),
  local(43, 'MX', 'MXN', 'BANK CODE', USD_LOCAL, MX_SPEI),
  swift(44, 'MX', 'MXN', USD_SWIFT),
  local(45, 'CL', 'CLP', 'BANK CODE', USD_LOCAL, CL_CMF),
  swift(46, 'CL', 'USD', USD_SWIFT_FAR),
  swift(47, 'AR', 'USD', USD_SWIFT_FAR, BOTH),
  swift(48, 'CO', 'USD', USD_SWIFT_FAR),
  swift(49, 'CR', 'USD', USD_SWIFT_FAR),
  swift(50, 'DO', 'USD', USD_SWIFT_FAR),
  swift(51, 'PA', 'USD', USD_SWIFT),
  swift(52, 'PE', 'USD', USD_SWIFT_FAR),
  swift(53, 'UY', 'USD', USD_SWIFT_FAR),
];
