import type { BeneficiaryAccountType, PayoutMethod } from '../corridors/corridor-entry.js';
import { type RecipientSchema, schemaOf } from './recipient-schema.js';
import { type Variant, VARIANTS } from './variants.js';

/** Which corridor: three that must be said, and who the beneficiary is where only one of both is wanted. */
export interface CorridorChoice {
  /** ISO 3166-1 alpha-2, in capital letters. */
  readonly countryCode: string;
  /** ISO 4217 alpha-3, in capital letters. */
  readonly currencyCode: string;
  readonly payoutMethod: PayoutMethod;
  readonly beneficiaryAccountType?: BeneficiaryAccountType | undefined;
}

/** Made when they are first asked for: at most one for each variant, and the same object for ever. */
const made = new Map<Variant, RecipientSchema>();
const origins = new WeakMap<RecipientSchema, Variant>();

/**
 * What a corridor asks for about a beneficiary: one JSON Schema for each way to write it down, persons before
 * companies. Empty where there is no such corridor. A corridor that is closed still says what it asks for.
 *
 * The documents are frozen, and {@link checkRecipient} checks by these very objects.
 */
export function recipientSchemasOf(choice: CorridorChoice): RecipientSchema[] {
  return VARIANTS.filter(
    ({ corridor }) =>
      corridor.destinationCountry === choice.countryCode &&
      corridor.destinationCurrency === choice.currencyCode &&
      corridor.payoutMethod === choice.payoutMethod &&
      (choice.beneficiaryAccountType ?? corridor.beneficiaryAccountType) === corridor.beneficiaryAccountType,
  ).map(schemaMadeFor);
}

/** The variant that a document was made from; undefined for a document that is not one of these. */
export function variantOf(schema: RecipientSchema): Variant | undefined {
  return origins.get(schema);
}

function schemaMadeFor(variant: Variant): RecipientSchema {
  const known = made.get(variant);
  if (known !== undefined) return known;
  const schema = frozen(schemaOf(variant));
  made.set(variant, schema);
  origins.set(schema, variant);
  return schema;
}

function frozen<Value extends object>(value: Value): Value {
  for (const part of Object.values(value)) if (typeof part === 'object' && part !== null) frozen(part as object);
  return Object.freeze(value);
}
