import { FORBIDDEN_CLASSES, type RecipientFieldSchema, type RecipientSchema } from '@banking/domain';
import { COUNTRIES, COUNTRIES_SOURCE, countryOf } from '../countries.js';
import { SEPA_SCOPE } from '../corridors/routing-sources.js';
import type { Source } from '../source.js';
import type { Format } from './format.js';
import type { Variant } from './variants.js';

/** The fields of `Beneficiary.data`. A schema requires some or all of them and forbids others. */
export const FIELDS = [
  'beneficiaryName',
  'beneficiaryAddress',
  'destinationCountry',
  'beneficiaryAccountType',
  'beneficiaryCountryCode',
  'beneficiaryAccountNumber',
  'routingCodeType1',
  'routingCodeValue1',
] as const;

export type Field = (typeof FIELDS)[number];

/** A field of a schema of ours. It always has examples, which pass. */
type FieldSchema = RecipientFieldSchema & { readonly examples: readonly string[] };

/** A schema of ours for `Beneficiary.data`: it describes all its fields and forbids others. */
export interface BeneficiarySchema extends RecipientSchema {
  readonly properties: Readonly<Record<Field, FieldSchema>>;
  readonly examples: readonly Readonly<Record<Field, string>>[];
}

const ANY = `[^${FORBIDDEN_CLASSES}]`;
const EDGE = `[^\\s${FORBIDDEN_CLASSES}]`;
/**
 * Text that people read: free text with a letter or a digit, and no space at either end. Any script, because clearings from China to
 * Japan take names in their own. Before the first letter or digit there is only punctuation, so that no engine backtracks far.
 */
const TEXT = `^(?:[\\p{P}\\p{S}][\\p{P}\\p{S} ]*)?[\\p{L}\\p{N}](?:${ANY}*${EDGE})?$`;
const TEXT_RULE = 'on one line, with a letter or digit, without spaces at either end';

/** Characters of a name: the EPC's SEPA guidelines, and ISO 20022's Max140Text elsewhere. */
const NAME_MAX = { sepa: 70, elsewhere: 140 };

/** Two free address lines of 70 characters, as ISO 20022 payments carry them across borders. */
const ADDRESS_MAX = 140;

const COUNTRY_CODES = COUNTRIES.map(({ alpha2 }) => alpha2);

/** The schema of a variant. Equal variants have equal schemas. */
export function schemaOf(variant: Variant): BeneficiarySchema {
  const { corridor } = variant;
  const { destinationCountry: country, destinationCurrency, payoutMethod, beneficiaryAccountType: kind } = corridor;
  const properties = propertiesOf(variant);
  const required = FIELDS.filter((field) => field !== 'beneficiaryAddress' || payoutMethod === 'SWIFT');
  const key = [country, destinationCurrency, payoutMethod, kind, ...routingParts(variant)];
  const who = kind === 'Individual' ? 'a person' : 'a company';

  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: `urn:banking:recipient-schema:${key.join(':').replaceAll(' ', '-')}`,
    title: `${destinationCurrency} to ${who} in ${nameOf(country)}, ${payoutMethod}, by ${routingParts(variant).join(' ')}`,
    $comment: `Route: ${cited(corridor.source)}. Check digits are checked as well, behind this schema.`,
    type: 'object',
    properties,
    required,
    additionalProperties: false,
    examples: [exampleOf(properties)],
  };
}

function propertiesOf(variant: Variant): Record<Field, FieldSchema> {
  const { corridor, account, routing } = variant;
  const { destinationCountry: country, beneficiaryAccountType: kind } = corridor;
  const person = kind === 'Individual';
  const nameMax = corridor.source === SEPA_SCOPE ? NAME_MAX.sepa : NAME_MAX.elsewhere;
  const { code } = routing;

  return {
    beneficiaryName: text(
      'Name of the beneficiary',
      `${person ? 'First and last name' : 'Registered name'}, at most ${nameMax} characters ${TEXT_RULE}.`,
      nameMax,
      person ? 'Maria Muster' : 'Muster Trading Ltd',
    ),
    beneficiaryAddress: text(
      'Address of the beneficiary',
      `Street, town and postal code, at most ${ADDRESS_MAX} characters ${TEXT_RULE}.`,
      ADDRESS_MAX,
      '12 Example Street, Exampletown 12345',
    ),
    destinationCountry: only('Country the money goes to', `${country}, for ${nameOf(country)}.`, country),
    beneficiaryAccountType: only('Who the beneficiary is', `${kind}, for ${person ? 'a person' : 'a company'}.`, kind),
    beneficiaryCountryCode: {
      type: 'string',
      title: 'Country of the beneficiary',
      description: 'Where the beneficiary lives or is registered, as two capital letters of ISO 3166-1 alpha-2.',
      examples: [country],
      enum: COUNTRY_CODES,
      $comment: cited(COUNTRIES_SOURCE),
    },
    beneficiaryAccountNumber: written('Account of the beneficiary', account),
    routingCodeType1: only('Kind of routing code', `${routing.type}, the code this route goes by.`, routing.type),
    routingCodeValue1:
      typeof code === 'string'
        ? only('Kind of PIX key', `${code}, the kind of key that stands in beneficiaryAccountNumber.`, code)
        : written('Routing code of the bank', code),
  };
}

function text(title: string, description: string, maxLength: number, example: string): FieldSchema {
  return { type: 'string', title, description, examples: [example], pattern: TEXT, maxLength };
}

function only(title: string, description: string, value: string): FieldSchema {
  return { type: 'string', title, description, examples: [value], const: value };
}

function written(title: string, { name, rule, example, pattern, maxLength, source }: Format): FieldSchema {
  return {
    type: 'string',
    title,
    description: `${name}: ${rule}.`,
    examples: [example],
    pattern,
    ...(maxLength === undefined ? {} : { maxLength }),
    $comment: cited(source),
  };
}

/** The routing part of an id or a title: the type, and the kind of a PIX key. */
function routingParts({ routing: { type, code } }: Variant): string[] {
  return typeof code === 'string' ? [type, code] : [type];
}

function exampleOf(properties: Record<Field, FieldSchema>): Record<Field, string> {
  return Object.fromEntries(FIELDS.map((field) => [field, properties[field].examples[0]])) as Record<Field, string>;
}

function nameOf(country: string): string {
  return countryOf(country)?.name ?? country;
}

function cited({ name, date }: Source): string {
  return `${name} (${date})`;
}
