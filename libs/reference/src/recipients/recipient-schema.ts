import {
  type BeneficiaryAccountType,
  type CurrencyCode,
  FORBIDDEN_CLASSES,
  type Known,
  type PayoutMethod,
  type RoutingCodeType,
  type RecipientFieldSchema,
  type RecipientSchema,
  FORBIDDEN_CHARACTERS,
  hasForbiddenCharacter,
  type RefusalDetail,
} from '@banking/domain';
import { accountFormatOf, PIX_KEYS } from './accounts.js';
import type { Format } from './format.js';
import { ibanFormatOf } from './iban-formats.js';
import { routingCodeOf } from './routing-codes.js';
import { COUNTRIES, COUNTRIES_SOURCE, countryOf } from '../countries.js';
import { ISO_9362, SEPA_COUNTRIES, SEPA_SCOPE } from './routing-sources.js';
import type { Source } from '../source.js';

/** Where a corridor leads. It never changes for an id, because recipients refer to it. */
export interface CorridorRoute {
  /** ISO 3166-1 alpha-2. */
  readonly destinationCountry: string;
  readonly destinationCurrency: CurrencyCode;
  readonly payoutMethod: Known<PayoutMethod>;
  readonly beneficiaryAccountType: Known<BeneficiaryAccountType>;
  readonly routingCodeType: Known<RoutingCodeType>;
  /** Whether the payment network of the corridor takes no payment without an address in elements. */
  readonly needsPostalAddress?: boolean;
}

/** One form of recipient details for a corridor. */
export interface Variant {
  readonly corridor: CorridorRoute;
  /** That of the route. */
  readonly source: Source;
  readonly account: Format;
  readonly routing: {
    /** The value of `routingCodeType1`. */
    readonly type: string;
    /** The format of `routingCodeValue1`, or its only allowed text. */
    readonly code: Format | string;
  };
}

interface Formats {
  readonly account: Format;
  readonly code: Format;
  /** That of the route. */
  readonly source: Source;
}

/** The formats of account number and routing code; undefined where the reference data lacks one. */
function formatsOf({ destinationCountry, payoutMethod, routingCodeType }: CorridorRoute): Formats | undefined {
  const iban = routingCodeType === 'SWIFT' ? ibanFormatOf(destinationCountry) : undefined;
  const account = iban ?? accountFormatOf(destinationCountry, payoutMethod);
  const code = routingCodeOf(destinationCountry, routingCodeType);
  if (account === undefined || code === undefined) return undefined;
  return { account, code, source: payoutMethod === 'SWIFT' ? ISO_9362 : (iban ?? code).source };
}

/** Whether recipients of a corridor can be described. */
export const hasRecipientFormat = (route: CorridorRoute): boolean => formatsOf(route) !== undefined;

/**
 * The variants of a corridor: one with its routing code and, for reais in Brazil, one for each kind of PIX key that such a
 * beneficiary can have. Empty without a format.
 */
function variantsOf(corridor: CorridorRoute): Variant[] {
  const { routingCodeType, beneficiaryAccountType } = corridor;
  const formats = formatsOf(corridor);
  if (formats === undefined) return [];
  const { account, code, source } = formats;
  const keys = PIX_KEYS.filter(({ heldBy }) => takesPix(corridor) && heldBy.includes(beneficiaryAccountType));
  const route = { corridor, source: isSepa(corridor) ? SEPA_SCOPE : source };
  return [
    { ...route, account, routing: { type: routingCodeType, code } },
    ...keys.map(({ kind, key }) => ({ ...route, account: key, routing: { type: 'PIX KEY', code: kind } })),
  ];
}

function takesPix({ destinationCountry, destinationCurrency, payoutMethod }: CorridorRoute): boolean {
  return destinationCountry === 'BR' && destinationCurrency === 'BRL' && payoutMethod === 'LOCAL';
}

/** Whether payments are credit transfers of SEPA. */
function isSepa({ destinationCountry, destinationCurrency, payoutMethod }: CorridorRoute): boolean {
  return payoutMethod === 'LOCAL' && destinationCurrency === 'EUR' && SEPA_COUNTRIES.includes(destinationCountry);
}

/**
 * The address in elements, each with the length of its element in ISO 20022 `PostalAddress24` (message components of 2019). It is beside
 * the text `beneficiaryAddress`: SWIFT (CBPR+) and the EPC take no address without a town and a country since November 2026.
 */
const POSTAL_ADDRESS = {
  beneficiaryStreetName: {
    title: 'Street of the beneficiary',
    rule: 'Name of the street',
    maxLength: 70,
    example: 'Example Street',
  },
  beneficiaryBuildingNumber: {
    title: 'House number of the beneficiary',
    rule: 'Number of the house',
    maxLength: 16,
    example: '12',
  },
  beneficiaryPostCode: {
    title: 'Postal code of the beneficiary',
    rule: 'Postal code',
    maxLength: 16,
    example: '12345',
  },
  beneficiaryTownName: {
    title: 'Town of the beneficiary',
    rule: 'Name of the town',
    maxLength: 35,
    example: 'Exampletown',
  },
} as const;

const TOWN = 'beneficiaryTownName';
const POSTAL_FIELDS = Object.keys(POSTAL_ADDRESS) as (keyof typeof POSTAL_ADDRESS)[];
/** An address without a town is none: it would be left out of the payment. */
const WITH_TOWN = Object.fromEntries(POSTAL_FIELDS.filter((field) => field !== TOWN).map((field) => [field, [TOWN]]));

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
  'beneficiaryStreetName',
  'beneficiaryBuildingNumber',
  'beneficiaryPostCode',
  'beneficiaryTownName',
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
function schemaOf(variant: Variant): BeneficiarySchema {
  const { corridor } = variant;
  const { destinationCountry: country, destinationCurrency, payoutMethod, beneficiaryAccountType: kind } = corridor;
  const properties = propertiesOf(variant);
  const { needsPostalAddress = false } = corridor;
  const optional: readonly Field[] = [
    ...(payoutMethod === 'SWIFT' ? [] : (['beneficiaryAddress'] as const)),
    ...POSTAL_FIELDS.filter((field) => field !== TOWN || !needsPostalAddress),
  ];
  const required = FIELDS.filter((field) => !optional.includes(field));
  const key = [country, destinationCurrency, payoutMethod, kind, ...routingParts(variant)];
  if (needsPostalAddress) key.push('TOWN');
  const who = kind === 'Individual' ? 'a person' : 'a company';

  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: `urn:banking:recipient-schema:${key.join(':').replaceAll(' ', '-')}`,
    title: `${destinationCurrency} to ${who} in ${nameOf(country)}, ${payoutMethod}, by ${routingParts(variant).join(' ')}`,
    $comment: `Route: ${cited(variant.source)}. Check digits are checked as well, behind this schema.`,
    type: 'object',
    properties,
    required,
    // In a schema that requires the town, it would be a second fault of the same field.
    ...(needsPostalAddress ? {} : { dependentRequired: WITH_TOWN }),
    additionalProperties: false,
    examples: [exampleOf(properties)],
  };
}

function propertiesOf(variant: Variant): Record<Field, FieldSchema> {
  const { corridor, account, routing } = variant;
  const { destinationCountry: country, beneficiaryAccountType: kind } = corridor;
  const person = kind === 'Individual';
  const nameMax = isSepa(corridor) ? NAME_MAX.sepa : NAME_MAX.elsewhere;
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
    ...postalAddress(),
  };
}

function postalAddress(): Record<keyof typeof POSTAL_ADDRESS, FieldSchema> {
  const schemas = POSTAL_FIELDS.map((field) => {
    const { title, rule, maxLength, example } = POSTAL_ADDRESS[field];
    return [field, text(title, `${rule}, at most ${maxLength} characters ${TEXT_RULE}.`, maxLength, example)];
  });
  return Object.fromEntries(schemas) as Record<keyof typeof POSTAL_ADDRESS, FieldSchema>;
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

/** By corridor, created at first use. */
const schemas = new Map<string, readonly BeneficiarySchema[]>();
const origins = new WeakMap<BeneficiarySchema, Variant>();

/**
 * The schemas of the details that corridors require of a beneficiary: one JSON Schema for each form. A disabled corridor has its schemas
 * too; one without a format of its numbers has none.
 *
 * The documents are frozen. {@link checkRecipient} accepts these objects only.
 */
export const recipientSchemasOf = (corridors: readonly CorridorRoute[]): BeneficiarySchema[] =>
  corridors.flatMap(schemasOfCorridor);

function schemasOfCorridor(corridor: CorridorRoute): readonly BeneficiarySchema[] {
  const { destinationCountry, destinationCurrency, payoutMethod, beneficiaryAccountType, routingCodeType } = corridor;
  const { needsPostalAddress = false } = corridor;
  const route = [destinationCountry, destinationCurrency, payoutMethod, beneficiaryAccountType, routingCodeType];
  const key = [...route, needsPostalAddress].join(':');
  const known = schemas.get(key);
  if (known !== undefined) return known;
  const created = variantsOf(corridor).map((variant) => {
    const schema = frozen(schemaOf(variant));
    origins.set(schema, variant);
    return schema;
  });
  schemas.set(key, created);
  return created;
}

/** The variant of a schema; undefined for a document of another origin. */
export function variantOf(schema: BeneficiarySchema): Variant | undefined {
  return origins.get(schema);
}

function frozen<Value extends object>(value: Value): Value {
  for (const part of Object.values(value)) if (typeof part === 'object' && part !== null) frozen(part as object);
  return Object.freeze(value);
}

/** The maximum number of faults in a response. */
export const FAULTS_MAX = 20;

/** Above this number of fields, the faults are not listed, because listing them would block the process. */
const FIELDS_SENT_MAX = 100;

/** A key that a message may repeat: it looks like the name of a field, not like a value. */
const FIELD_NAME = /^[A-Za-z][A-Za-z0-9_]{0,63}$/;

/**
 * The faults of beneficiary details that apply to every corridor; empty if there are none. Details without such a fault are an
 * object of known fields with texts, so that their hash and their JSON exist.
 *
 * The reasons are `type`, `field_unknown` and `format`, as in `checkRecipient`.
 *
 * @param data untrusted input of any type
 */
export function checkBeneficiaryTexts(data: unknown): RefusalDetail[] {
  if (typeof data !== 'object' || data === null || Array.isArray(data)) {
    return [{ path: '/data', reason: 'type', message: 'data must be an object.' }];
  }
  const fields: [string, unknown][] = Object.entries(data);
  if (fields.length > FIELDS_SENT_MAX) return [unknownField('')];
  return fields.flatMap(([name, value]) => textFault(name, value) ?? []).slice(0, FAULTS_MAX);
}

/** A fault of a known field: the sentences follow its name. */
export function fault(field: Field, reason: string, ...sentences: string[]): RefusalDetail {
  return { path: `/data/${field}`, reason, message: `${field} ${sentences.join(' ')}` };
}

function textFault(name: string, value: unknown): RefusalDetail | undefined {
  if (!isField(name)) return unknownField(name);
  if (typeof value !== 'string') return fault(name, 'type', 'must be a text in quotes.');
  if (hasForbiddenCharacter(value)) return fault(name, 'format', `must not contain ${FORBIDDEN_CHARACTERS}.`);
  return undefined;
}

function isField(name: string): name is Field {
  return (FIELDS as readonly string[]).includes(name);
}

function unknownField(name: string): RefusalDetail {
  const path = FIELD_NAME.test(name) ? `/data/${name}` : '/data';
  return { path, reason: 'field_unknown', message: `The fields of data are ${FIELDS.join(', ')}, and no others.` };
}
