import type { CorridorQuery } from '@banking/domain';
import { type BeneficiarySchema, schemaOf } from './recipient-schema.js';
import { type Variant, VARIANTS } from './variants.js';

/** One schema for each variant, created at first use. */
const schemas = new Map<Variant, BeneficiarySchema>();
const origins = new WeakMap<BeneficiarySchema, Variant>();

/**
 * The schemas of the details that a corridor requires of a beneficiary: one JSON Schema for each form, persons before
 * companies. Empty without such a corridor. A disabled corridor has its schemas too.
 *
 * The documents are frozen. {@link checkRecipient} accepts these objects only.
 *
 * @param choice with the country as ISO 3166-1 alpha-2 and both codes in capital letters
 */
export function recipientSchemasOf(choice: CorridorQuery): BeneficiarySchema[] {
  return VARIANTS.filter(
    ({ corridor }) =>
      corridor.destinationCountry === choice.countryCode &&
      corridor.destinationCurrency === choice.currencyCode &&
      corridor.payoutMethod === choice.payoutMethod &&
      (choice.beneficiaryAccountType ?? corridor.beneficiaryAccountType) === corridor.beneficiaryAccountType,
  ).map(cachedSchemaOf);
}

/** The variant of a schema; undefined for a document of another origin. */
export function variantOf(schema: BeneficiarySchema): Variant | undefined {
  return origins.get(schema);
}

function cachedSchemaOf(variant: Variant): BeneficiarySchema {
  const known = schemas.get(variant);
  if (known !== undefined) return known;
  const schema = frozen(schemaOf(variant));
  schemas.set(variant, schema);
  origins.set(schema, variant);
  return schema;
}

function frozen<Value extends object>(value: Value): Value {
  for (const part of Object.values(value)) if (typeof part === 'object' && part !== null) frozen(part as object);
  return Object.freeze(value);
}
