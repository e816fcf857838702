/**
 * Public facts of banking with source and date, the document in which an operator states the terms of a deployment, and the sources of
 * exchange rates. The service stores currencies, banks and what the documents state in tables, and reads the rows afterwards.
 */
export { COUNTRIES, COUNTRIES_SOURCE, countryOf, type Country } from './countries.js';
export {
  demoReference,
  newProducts,
  readReferenceDocument,
  type ReferenceContent,
  type ReferenceDocument,
  routeOf,
  writeReferenceDocument,
} from './reference-document.js';
export { feeOf, type FeeSchedule } from './fee.js';
export {
  MissingRate,
  NO_RATES,
  noRate,
  type DatedRate,
  type RateSource,
  DEMO_RATES,
  ratesChannel,
} from './rates/rate-source.js';
export { crossRate, readRateDocument, writtenRate } from './rates/http-rate-source.js';
export { chooseRates } from './rates/choose-rates.js';
export { BANKS, BANKS_SOURCE, bankOf } from './banks.js';
export {
  type CorridorRoute,
  recipientSchemasOf,
  checkBeneficiaryTexts,
  type BeneficiarySchema,
} from './recipients/recipient-schema.js';
export { SEPA_COUNTRIES } from './recipients/routing-sources.js';
export { checkRecipient } from './recipients/check-recipient.js';
