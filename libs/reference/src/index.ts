/**
 * Reference data, each piece with its source and date, and the readers that need nothing but it.
 *
 * What the tables have a place for is loaded into them, and from then on the rows are what the service answers with.
 * Schemas, fee schedules and demo rates have none: they are answered from here.
 */
export type { Source } from './source.js';
export { COUNTRIES, COUNTRIES_SOURCE, countryOf, type Country } from './countries.js';
export { PRODUCTS, PRODUCTS_SOURCE, type ProductEntry } from './products.js';
export { SWIFT_MINIMUMS, SWIFT_MINIMUM_SOURCE, swiftMinimumOf } from './currency-details.js';
export { CORRIDORS, corridorsTo, feeScheduleOf } from './corridors/all-corridors.js';
export type { CorridorEntry } from './corridors/corridor-entry.js';
export { feeOf, type FeeSchedule } from './fee.js';
export { DEMO_RATES_SOURCE, demoRate, type DemoRate } from './demo-rates.js';
export { BANKS, BANKS_SOURCE, bankOf, type BankEntry } from './banks.js';
export { PURPOSES, PURPOSES_SOURCE, purposesOf, type PurposeEntry } from './purposes.js';
export { recipientSchemasOf, type CorridorChoice } from './recipients/recipient-schemas-of.js';
export { checkBeneficiaryTexts } from './recipients/beneficiary-texts.js';
export { checkRecipient } from './recipients/check-recipient.js';
export type { FieldSchema, RecipientSchema } from './recipients/recipient-schema.js';
