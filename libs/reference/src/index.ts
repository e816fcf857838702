/**
 * Reference data with source and date, the functions that read only this data, and the sources of exchange rates.
 *
 * The service loads countries, corridors, products and banks into tables at start, and reads the rows afterwards.
 * Schemas, fee schedules and demo rates have no table: the service reads them from this package.
 */
export { COUNTRIES, COUNTRIES_SOURCE, countryOf, type Country } from './countries.js';
export { PRODUCTS, PRODUCTS_SOURCE } from './products.js';
export { SWIFT_MINIMUM_SOURCE, swiftMinimumOf } from './currency-details.js';
export { CORRIDORS, feeScheduleOf } from './corridors/corridors.js';
export type { CorridorEntry } from './corridors/corridor-entry.js';
export { feeOf, type FeeSchedule } from './fee.js';
export { NO_RATES, noRate, type DatedRate, type RateSource, DEMO_RATES, ratesChannel } from './rates/rate-source.js';
export { crossRate, readRateDocument, writtenRate } from './rates/http-rate-source.js';
export { chooseRates } from './rates/choose-rates.js';
export { BANKS, BANKS_SOURCE, bankOf } from './banks.js';
export { PURPOSES, PURPOSES_SOURCE, purposesOf } from './purposes.js';
export { recipientSchemasOf, checkBeneficiaryTexts, type BeneficiarySchema } from './recipients/recipient-schema.js';
export { checkRecipient } from './recipients/check-recipient.js';
